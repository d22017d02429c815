"""Blocks of a report and their output as HTML, Markdown, SVG and TSV, independent of any paper."""
