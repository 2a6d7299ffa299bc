"""What runs on this machine: the local service, its faults, and the ingest of raw dumps."""
