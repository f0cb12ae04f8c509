"""Which servers are new enough."""

import pytest

from shoal.brain.connection import _check_version
from shoal.runtime.errors import Invalid


@pytest.mark.parametrize(
    "about",
    [
        {"redis_version": "7.0.0"},
        {"redis_version": "10.1.2"},
        {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "9.1.0"},
    ],
)
def test_redis_7_and_any_valkey_will_do(about: dict[str, str]) -> None:
    _check_version(about)


@pytest.mark.parametrize("about", [{"redis_version": "6.2.14"}, {"redis_version": ""}, {}])
def test_an_older_redis_is_refused(about: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refusal:
        _check_version(about)
    assert refusal.value.code == "redis_too_old"
