"""What can be said about local/ without a server."""
