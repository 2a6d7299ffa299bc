"""Series, sets of series, and their conversion to frames."""
