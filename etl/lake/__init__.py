"""The lake: the one way into and out of the Delta tables."""
