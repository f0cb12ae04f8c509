"""The statements of the room."""

from shoal.ledger.statements import load_statements

sql = load_statements("shoal.discord")
