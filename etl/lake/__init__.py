"""The lake: all reading and writing of the Delta tables."""
