"""What the builders know about words: English forms, WordNet, ConceptNet, lexicons."""
