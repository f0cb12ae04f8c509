"""Rolls against plain sets, through joins, leaves, lists on their way and connections that are lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.discord.rolls import Roll, Rolls

GUILD, OTHER = 10, 20
USERS = st.integers(1, 12)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 2**64 - 1)), max_size=60), st.sets(USERS))
@settings(deadline=None)
def test_a_roll_is_a_set(steps: list[tuple[bool, int]], first: set[int]) -> None:
    roll, model = Roll(first), set(first)
    for joined, user_id in steps:
        (roll.add if joined else roll.remove)(user_id)
        (model.add if joined else model.discard)(user_id)
        assert list(roll.ids) == sorted(model)
    assert len(roll) == len(model)
    assert all((user_id in roll) == (user_id in model) for user_id in model | set(range(1, 13)))


class Hearing:
    """A guild, and a process that hears of it over a connection that may be lost."""

    def __init__(self, members: set[int]) -> None:
        self.rolls = Rolls()
        self.members = members
        self.online = True
        self.missed: list[tuple[int, bool]] = []
        self.listed: set[int] | None = None
        self.ask()
        self.arrive()

    def change(self, user_id: int, *, joined: bool) -> None:
        (self.members.add if joined else self.members.discard)(user_id)
        if self.online:
            self.hear(user_id, joined=joined)
        else:
            self.missed.append((user_id, joined))

    def hear(self, user_id: int, *, joined: bool) -> None:
        (self.rolls.joined if joined else self.rolls.left)(GUILD, user_id)

    def cut(self) -> None:
        self.online = False
        self.rolls.doubt([GUILD])

    def resume(self) -> None:
        """What was missed comes first."""
        if not self.online:
            for user_id, joined in self.missed:
                self.hear(user_id, joined=joined)
            self.online, self.missed = True, []
            self.rolls.trust([GUILD])

    def anew(self) -> None:
        """What was missed never comes, and neither does a list that was on its way."""
        if not self.online:
            self.online, self.missed, self.listed = True, [], None
            self.rolls.abandon(GUILD)
            self.rolls.outdate([GUILD])

    def ask(self) -> None:
        if self.online:
            self.rolls.begin(GUILD)
            self.listed = set(self.members)

    def arrive(self) -> None:
        if self.online and self.listed is not None:
            self.rolls.finish(GUILD, self.listed)
            self.listed = None


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_known_for_sure_is_true(data: st.DataObject) -> None:
    there = Hearing(data.draw(st.sets(USERS)))
    steps = st.sampled_from(["join", "leave", "leave", "cut", "resume", "anew", "ask", "arrive"])
    for step in data.draw(st.lists(steps, min_size=5, max_size=40)):
        if step in {"join", "leave"}:
            there.change(data.draw(USERS), joined=step == "join")
        else:
            getattr(there, step)()
        for user_id in range(1, 13):
            assert there.rolls.is_member(GUILD, user_id) in (None, user_id in there.members)
        assert there.rolls.is_member(OTHER, 1) is None


def test_a_list_that_arrives_makes_sure_again() -> None:
    rolls = Rolls()
    assert rolls.is_member(GUILD, 1) is None
    rolls.begin(GUILD)
    rolls.left(GUILD, 2)
    rolls.joined(GUILD, 3)
    rolls.finish(GUILD, [1, 2])
    assert [rolls.is_member(GUILD, user_id) for user_id in (1, 2, 3, 4)] == [True, False, True, False]
    rolls.outdate([GUILD])
    assert rolls.is_member(GUILD, 1) is None
    rolls.trust([GUILD])
    assert rolls.is_member(GUILD, 1) is None, "a resumed connection does not make an old list true"
    rolls.begin(GUILD)
    rolls.finish(GUILD, [4])
    assert [rolls.is_member(GUILD, user_id) for user_id in (1, 4)] == [False, True]
    rolls.forget(GUILD)
    assert rolls.is_member(GUILD, 4) is None
