"""Generated from proto/*.proto by ``make proto``. Never edited: a test writes it anew and compares."""
