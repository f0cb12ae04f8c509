"""The embedded servers and the data directory, tried on real servers, mounts and kills."""
