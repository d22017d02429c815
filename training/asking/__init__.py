"""Language models without training: `sentences` has the log-probabilities that they give texts."""
