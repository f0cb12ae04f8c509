"""Shoal: one dependable workforce out of machines you own, rent, or borrow from strangers."""

from shoal.app.context import Context
from shoal.app.declare import App
from shoal.app.failures import PermanentFailure, RetryAfter, Snooze
from shoal.app.graph import Graph
from shoal.app.trial import Trial, try_job

__all__ = ["App", "Context", "Graph", "PermanentFailure", "RetryAfter", "Snooze", "Trial", "try_job"]
