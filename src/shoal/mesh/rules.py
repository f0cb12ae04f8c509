"""Small decisions of the coordinator. Pure."""

from collections.abc import Set as AbstractSet

MOST_ACCUSED_BY_ONE = 3
LONGEST_BAR_S = 60.0
FIRST_BAR_S = 2.0
FOR_EVER = float("inf")


def is_chosen(to: tuple[str, ...], server_id: str, labels: tuple[str, ...]) -> bool:
    """Whether a push is for this server: for all, for it by name, or for one of its labels."""
    return not to or server_id in to or bool(set(to) & set(labels))


def gives(accusers: AbstractSet[str], *, liars: AbstractSet[str]) -> bool:
    """Whether a server may still give out shards: two who are believed suffice to stop it."""
    return len(accusers - liars) < 2


def is_liar(accused: AbstractSet[str], *, confirmed: AbstractSet[str]) -> bool:
    """Whoever accuses many whom nobody else accuses has a fault of its own: its disk, or its intentions."""
    return len(accused - confirmed) >= MOST_ACCUSED_BY_ONE


def bar_s(outcome: str, failures: int) -> float:
    """How long a pair is not put together after its nth failure in a row."""
    if outcome == "CORRUPT":
        return FOR_EVER
    return min(FIRST_BAR_S * 2.0 ** min(failures - 1, 10), LONGEST_BAR_S)


def fits(owned: bytes, shards: int) -> bool:
    """Whether a bitmap can be one of so many shards: long enough, and no bit set behind the last."""
    if len(owned) != -(-shards // 8):
        return False
    return shards % 8 == 0 or owned[-1] >> (shards % 8) == 0
