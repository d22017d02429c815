"""Training: encoders and sequence-to-sequence models on the lake's tables, with DeepSpeed."""
