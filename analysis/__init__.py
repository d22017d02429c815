"""Statistics, reports and exports of datasets, models and their predictions."""
