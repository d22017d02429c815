"""What is measured and shown of datasets, models and their predictions."""
