"""One page per paper: each printed table and figure is one function, declared with the tables it
reads and the published numbers it is compared with (`analysis.papers.exhibits`)."""
