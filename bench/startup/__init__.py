"""How fast ``shoal up`` is ready, and how much memory it takes."""
