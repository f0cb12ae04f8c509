"""Events on real servers."""
