"""Parsers behind one seam: plain text in, columns of parsed tokens out."""
