"""Jobs that turn dumps into Delta tables of adjective–noun pairs, and those into datasets."""
