"""Whole jobs on other engines with their jars, in minutes: ``make test-cluster``."""
