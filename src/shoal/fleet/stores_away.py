"""A brain or a ledger that is away is no defect: who asked hears that, and asks again."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from shoal.brain.connection import is_away
from shoal.ledger.connection import UNREACHABLE
from shoal.runtime.errors import ShoalError, Unavailable


@contextmanager
def stores_needed() -> Iterator[None]:
    """Raises ``Unavailable`` instead of what the library of an absent store raises."""
    try:
        yield
    except RedisError as error:
        if is_away(error):
            raise Unavailable("redis_unreachable", "The brain does not answer.") from error
        raise
    except UNREACHABLE as error:
        if isinstance(error, ShoalError):
            raise
        raise Unavailable("database_unreachable", "The database does not answer.") from error
