"""Word sketches: a word's collocates, two words beside each other, a pair with its sentences."""
