"""Readers of corpora: they turn a dump into blocks of parsed lines or documents of plain text."""
