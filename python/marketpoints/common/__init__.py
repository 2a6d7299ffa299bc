"""Shared by the folders above: arguments, times, intervals, texts for the screen, logging."""
