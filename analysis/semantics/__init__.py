"""Evaluation of predicted meanings: exact match, provers, DRS matching, polarity."""
