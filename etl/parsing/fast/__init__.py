"""A compiled extractor of adjective–noun pairs from raw text, distilled from spaCy."""
