import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.jobs.verdicts import Contest

rates = st.floats(min_value=1, max_value=1e6)
peers = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.tuples(rates, rates), min_size=1)


def test_we_are_compared_with_the_fastest_peer() -> None:
    contest = Contest(60, peers={"slow": 10, "fast": 40}, known={"slow": 10, "fast": 40})
    assert contest.best_peer() == "fast"
    assert contest.ratio() == pytest.approx(1.5)


def test_of_latencies_the_shortest_is_the_best() -> None:
    contest = Contest(1, peers={"slow": 4, "fast": 2}, known={"slow": 4, "fast": 2}, more_is_better=False)
    assert contest.best_peer() == "fast"
    assert contest.ratio() == pytest.approx(0.5)


def test_a_peer_far_below_what_it_is_known_for_is_void() -> None:
    assert Contest(1, peers={"peer": 49}, known={"peer": 100}).void_peers() == ["peer"]
    assert Contest(1, peers={"peer": 51}, known={"peer": 100}).void_peers() == []
    slow = Contest(1, peers={"peer": 4.1}, known={"peer": 2}, more_is_better=False)
    assert slow.void_peers() == ["peer"]


def test_no_ratio_is_given_when_the_best_peer_may_be_the_void_one() -> None:
    contest = Contest(60, peers={"sick": 10, "well": 20}, known={"sick": 50, "well": 20})
    assert contest.ratio() is None


def test_a_void_peer_that_was_never_the_best_does_not_spoil_the_ratio() -> None:
    contest = Contest(60, peers={"sick": 1, "well": 40}, known={"sick": 5, "well": 40})
    assert contest.ratio() == pytest.approx(1.5)


def test_without_peers_there_is_nothing_to_compare_with() -> None:
    assert Contest(60, peers={}, known={}).ratio() is None


@given(ours=rates, peers=peers, more_is_better=st.booleans())
def test_a_ratio_is_never_better_than_against_any_valid_peer(
    ours: float, peers: dict[str, tuple[float, float]], *, more_is_better: bool
) -> None:
    contest = Contest(
        ours,
        peers={name: did for name, (did, _) in peers.items()},
        known={name: known for name, (_, known) in peers.items()},
        more_is_better=more_is_better,
    )
    ratio = contest.ratio()
    if ratio is not None:
        against = [ours / did for name, did in contest.peers.items() if name not in contest.void_peers()]
        assert ratio == (min(against) if more_is_better else max(against))
