"""Show, explain, export and describe the tables of the lake."""
