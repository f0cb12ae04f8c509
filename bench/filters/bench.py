"""Membership filters: how fast a user is looked up, how much memory a guild takes, how often chance lets in.

Beside a Python set of the members, which is what one would take without a filter, and rbloom alone, which is
the limit: a filter adds the SHA-256 of the user's id, once for all guilds.
"""

import operator
import random
import sys
import time
from collections.abc import Callable, Sequence

from rbloom import Bloom

from bench.harness.samples import Samples
from bench.harness.table import say, say_ratio, say_samples, say_settings
from shoal.discord.filters import Filters
from shoal.discord.membership_filter import RATE, MembershipFilter, key_of
from shoal.discord.rules import capacity_for

MEMBERS = 100_000
GUILDS = 100
MEMBERS_OF_SMALL = 5_000
SEED = 20260101
RATE_GOAL = 2e-6

Look = Callable[[Sequence[int]], int]


def measure(*, quick: bool) -> dict[str, float]:
    repetitions, lookups, strangers = (3, 2_000, 200_000) if quick else (7, 5_000, 1_000_000)
    say_settings(
        {
            "guilds": f"{GUILDS} of {MEMBERS_OF_SMALL:,} members, and one of {MEMBERS:,}",
            "filters": "filled to their last place, where the rate of false positives is highest",
            "probes": f"{strangers:,} strangers against each of {GUILDS} filters; seed {SEED}",
            "goal": f"false_positive_rate <= {RATE_GOAL}",
        }
    )
    drawn = random.Random(SEED)  # noqa: S311 - a repeatable draw
    rolls = {guild: ids(drawn, capacity_for(MEMBERS_OF_SMALL)) for guild in range(1, GUILDS + 1)}
    filters = Filters()
    for guild, roll in rolls.items():
        filters.put(full_filter(guild, roll, MEMBERS_OF_SMALL))
    sets = {guild: set(roll) for guild, roll in rolls.items()}

    def look_in_filters(users: Sequence[int]) -> int:
        return sum(len(filters.perhaps_in(user)) for user in users)

    def look_in_sets(users: Sequence[int]) -> int:
        return sum(len([guild for guild, its in sets.items() if user in its]) for user in users)

    asked = [rolls[1 + n % GUILDS][n] if n % 2 else one for n, one in enumerate(ids(drawn, lookups))]
    large_ids = ids(drawn, MEMBERS)
    large = MembershipFilter.build(1, large_ids, members=MEMBERS)
    bare = Bloom(capacity_for(MEMBERS), RATE, operator.index)
    bare.update(map(key_of, large_ids))
    keys = [key_of(user) for user in asked]

    def look_once(users: Sequence[int]) -> int:
        return sum(user in large for user in users)

    def look_bare(known: Sequence[int]) -> int:
        return sum(key in bare for key in known)

    checks = rate_of(look_in_filters, asked, GUILDS, repetitions)
    of_sets = rate_of(look_in_sets, asked, GUILDS, repetitions)
    single = rate_of(look_once, asked, 1, repetitions)
    alone = rate_of(look_bare, keys, 1, repetitions)
    built = Samples(
        [seconds(lambda: MembershipFilter.build(1, large_ids, members=MEMBERS)) for _ in range(3)]
    )
    filter_mb = large.size_in_bytes / 1e6
    set_mb = (sys.getsizeof(set(large_ids)) + sum(map(sys.getsizeof, large_ids))) / 1e6
    hits, probes = chance(filters, ids(drawn, strangers))
    say_samples(
        [
            (f"a user against {GUILDS} filters", checks, "checks/s"),
            (f"a user against {GUILDS} sets", of_sets, "checks/s"),
            ("a user against one filter", single, "checks/s"),
            ("limit: rbloom alone, hashed before", alone, "checks/s"),
            (f"build a filter of {MEMBERS:,}", built, "s"),
            ("a filter, in memory", Samples([filter_mb]), "MB"),
            ("the set, in memory", Samples([set_mb]), "MB"),
            ("the filter, in the ledger", Samples([len(large.dump()) / 1e6]), "MB"),
        ]
    )
    say_ratio("checks, filters to sets", ("filters", checks), ("sets", of_sets))
    say(f"memory, filter to set: {filter_mb / set_mb:.4f} = {filter_mb:.3g} MB / {set_mb:.3g} MB")
    say(f"let in by chance: {hits} of {probes:,}")
    return {
        "checks_per_s": checks.figure,
        "single_checks_per_s": single.figure,
        "mb_per_100k_members": filter_mb,
        "build_s_per_100k_members": built.figure,
        "false_positive_rate": hits / probes,
    }


def full_filter(guild: int, roll: Sequence[int], members: int) -> MembershipFilter:
    its = MembershipFilter.build(guild, roll[:members], members=members)
    for joining in roll[members:]:
        its.add(joining)
    return its


def ids(drawn: random.Random, count: int) -> list[int]:
    """Snowflakes, as many as wanted and no two the same."""
    return [drawn.getrandbits(40) << 22 | number % 2**22 for number in range(count)]


def rate_of(look: Look, given: Sequence[int], checks_each: int, repetitions: int) -> Samples:
    look(given)
    return Samples([len(given) * checks_each / seconds(lambda: look(given)) for _ in range(repetitions)])


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def chance(filters: Filters, strangers: Sequence[int]) -> tuple[int, int]:
    """How many strangers a filter does not rule out, of how many probes. Ids of 62 bits do not repeat."""
    return sum(len(filters.perhaps_in(user)) for user in strangers), len(strangers) * GUILDS
