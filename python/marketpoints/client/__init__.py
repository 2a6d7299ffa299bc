"""The clients: settings, and the methods of series, discovery and analytics."""
