"""Adnominal: adjective–noun semantics at web scale."""

__version__ = "0.1.0"
