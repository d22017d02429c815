"""Jobs that turn dumps into Delta tables of adjective–noun pairs, and the pairs into datasets."""
