"""Typed records and tables: analytics, market listings, plans and budgets, reports of the archive."""
