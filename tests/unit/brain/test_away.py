"""Which errors say that the brain is away, and will be back."""

import pytest
from redis import exceptions
from redis.asyncio.sentinel import MasterNotFoundError

from shoal.brain.connection import is_away


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ConnectionError("Error 111 connecting to host"),
        exceptions.TimeoutError("Timeout reading from socket"),
        exceptions.BusyLoadingError("Valkey is loading the dataset in memory"),
        exceptions.ReadOnlyError("You can't write against a read only replica."),
        MasterNotFoundError("No master found for 'fleet'"),
        exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."),
        exceptions.ResponseError("complete_chunk: NOREPLICAS Not enough good replicas to write."),
        exceptions.ResponseError(
            "Command # 2 (EVALSHA a832 1...) of pipeline caused error: "
            "('NOREPLICAS Not enough good replicas to write. script: on @user_script:24.',)"
        ),
        exceptions.ResponseError("MISCONF Errors writing to the AOF file"),
        ConnectionResetError(),
    ],
)
def test_a_brain_that_cannot_answer_now_is_away(error: Exception) -> None:
    assert is_away(error)


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
        exceptions.ResponseError("ERR user_script:12: attempt to index a nil value"),
        exceptions.ResponseError("OOM command not allowed when used memory > 'maxmemory'."),
        ValueError("LOADING a gun"),
    ],
)
def test_a_mistake_is_not_taken_for_that(error: Exception) -> None:
    assert not is_away(error)
