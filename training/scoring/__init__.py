"""``training/score.py``: fine-tuned models on the labelled rows of any task."""
