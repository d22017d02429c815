"""Run a classifier over millions of rows of the lake."""
