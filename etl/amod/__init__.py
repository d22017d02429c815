"""The extraction job: count the adjective–noun pairs of a corpus with a compiled kernel."""
