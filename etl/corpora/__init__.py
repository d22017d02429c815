"""Readers of corpora: dumps in, blocks of parsed lines or documents of plain text out."""
