"""A classifier over millions of rows of the lake, and the items worth an annotator's time."""
