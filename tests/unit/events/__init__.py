"""Decisions of the room of events."""
