"""The local service, its faults, and the ingest of raw dumps."""
