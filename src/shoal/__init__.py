"""Shoal: one dependable workforce out of machines you own, rent, or borrow from strangers."""
