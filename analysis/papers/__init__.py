"""A page a paper: each printed table and figure is one function, declared with what it reads and
the published numbers that it is compared with (`analysis.papers.page`)."""
