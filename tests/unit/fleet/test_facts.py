"""What follows from the ledger's rows for the brain: pure."""

import pytest

from shoal.fleet.facts import NodeFacts
from shoal.fleet.limits import LocalConnectionLimit, is_loopback
from shoal.fleet.owners import check_access
from shoal.runtime.errors import Invalid
from shoal.wire.nodes import Access


def node(**changes: object) -> NodeFacts:
    given = {
        "id": "n",
        "owner": "ann",
        "name": "",
        "key_hash": "",
        "max_parallel": None,
        "paused": False,
        "platform": "",
        "version": "",
        "engines": ("dps@1",),
        "is_revoked": False,
        "access": (),
        **changes,
    }
    return NodeFacts(**given)  # type: ignore[arg-type]  # of a test


def test_a_node_serves_its_owner_and_whom_that_lets_in() -> None:
    rights = node(access=("public", "user:bob", "discord:7")).rights
    assert rights.accepts == {"owner:ann", "public", "user:bob", "discord:7"}
    assert node().rights.accepts == {"owner:ann"}


def test_a_node_of_nobody_accepts_nothing_whatever_stands_there() -> None:
    assert node(owner=None, access=("public",)).rights.pools == []


@pytest.mark.parametrize(
    ("changes", "reported", "parallel"),
    [
        ({}, 8, 8),
        ({"max_parallel": 2}, 8, 2),
        ({"max_parallel": 20}, 8, 8),
        ({"paused": True}, 8, 0),
        ({"owner": None}, 8, 0),
        ({}, 0, 0),
    ],
)
def test_how_many_a_node_runs(changes: dict[str, object], reported: int, parallel: int) -> None:
    assert node(**changes).parallel(reported) == parallel


def test_a_paused_node_is_told_to_run_none() -> None:
    assert node(paused=True, max_parallel=4).configured.max_parallel == 0
    assert node(max_parallel=4).configured.max_parallel == 4
    assert node().configured.max_parallel is None


@pytest.mark.parametrize(
    ("address", "is_ours"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("", True),
        ("/run/x.sock", True),
        ("10.0.0.1", False),
        ("odd", False),
    ],
)
def test_what_comes_from_this_machine(address: str, is_ours: bool) -> None:
    assert is_loopback(address) is is_ours


def test_an_address_connects_ten_times_a_minute() -> None:
    limit = LocalConnectionLimit(per_minute=10)
    assert [limit.allows("10.0.0.1") for _ in range(12)] == [True] * 10 + [False] * 2
    assert limit.allows("10.0.0.2")
    assert all(limit.allows("127.0.0.1") for _ in range(50))
    assert all(LocalConnectionLimit(per_minute=0).allows("10.0.0.1") for _ in range(50))


@pytest.mark.parametrize("target", ["", "bob", "0" * 36])
def test_a_user_is_named_by_an_id(target: str) -> None:
    with pytest.raises(Invalid):
        check_access(Access("user", target))
