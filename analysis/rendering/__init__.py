"""Blocks of a report, and how they are written as HTML, Markdown, SVG and TSV; knows no paper."""
