"""Word sketches: the collocates of a word, comparisons of two words, pairs with sentences."""
