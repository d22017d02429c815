"""The report of ``python -m analysis.report``: one module a paper, and what no paper has."""
