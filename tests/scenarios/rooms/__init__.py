"""One module per room: what works, which faults strike, what must hold."""
