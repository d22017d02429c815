"""Run a classifier over millions of rows of the lake, and select items worth annotating."""
