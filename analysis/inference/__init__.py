"""Statistics that scipy and statsmodels lack, and intervals in the one form that tables take."""
