"""Universes: many series as one plan, one run and one report."""
