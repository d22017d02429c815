"""The corpora: a dump in, blocks of parsed lines or documents of plain text out."""
