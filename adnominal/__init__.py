"""Adnominal: adjective–noun semantics at web scale."""
