"""What a node holds, with a server at the other end of a network that loses and reorders everything."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shoal.node.chunks import Computed
from shoal.node.holdings import MOST_PAST, Action, Begin, Drop, HandBack, Holdings, LookUp, Offer
from shoal.wire.fleet import HeldChunk, digest_of

ENDING = Computed({})
PICKS = st.integers(0, 1000)


def chunk(name: str) -> HeldChunk:
    return HeldChunk(id=name, job_id="job", engine="e@1", config_hash="0" * 64, seed_offset=0, iterations=1)


def chunks(*names: str) -> list[HeldChunk]:
    return [chunk(name) for name in names]


@dataclass
class Question:
    kind: Literal["look", "complete", "beat", "hand back"]
    asked: int
    about: tuple[str, ...] = ()


@dataclass
class Word:
    """To the node: a push, or the answer to a question."""

    kind: Literal["push", "looked", "verdict", "pulse"]
    asked: int = 0
    about: str = ""
    chunks: tuple[str, ...] = ()
    digest: str = ""


class NodeAndServer(RuleBasedStateMachine):
    """The node does at once what ``Holdings`` says; what it says and hears is under way for any time."""

    def __init__(self) -> None:
        super().__init__()
        self.node = Holdings()
        self.running: set[str] = set()
        self.has_verdict: set[str] = set()
        self.held: dict[str, None] = {}
        self.done: set[str] = set()
        self.given = 0
        self.kept: tuple[dict[str, None], set[str], int] = ({}, set(), 0)
        self.questions: list[Question] = []
        self.words: list[Word] = []
        self.is_connected = False

    # The server

    @rule(is_pushed=st.booleans())
    def the_server_gives_a_chunk(self, is_pushed: bool) -> None:
        name = self.give()
        if is_pushed and self.is_connected:
            self.words.append(Word("push", chunks=(name,)))

    @precondition(lambda self: self.held)
    @rule(pick=PICKS)
    def the_server_takes_a_chunk_back(self, pick: int) -> None:
        del self.held[picked(self.held, pick)]

    @rule()
    def the_server_writes_down_what_it_knows(self) -> None:
        self.kept = (dict(self.held), set(self.done), self.given)

    @rule()
    def the_server_forgets_what_it_did_not_write_down(self) -> None:
        held, done, self.given = self.kept
        self.held, self.done = dict(held), set(done)

    @precondition(lambda self: self.questions)
    @rule(pick=PICKS, gives=st.booleans())
    def a_question_arrives(self, pick: int, gives: bool) -> None:
        self.answer(self.questions.pop(pick % len(self.questions)), gives=gives)

    # The network

    @precondition(lambda self: self.words)
    @rule(pick=PICKS)
    def a_word_arrives(self, pick: int) -> None:
        self.hear(self.words.pop(pick % len(self.words)))

    @precondition(lambda self: any(word.kind == "push" for word in self.words))
    @rule()
    def a_push_is_lost(self) -> None:
        self.words.remove(next(word for word in self.words if word.kind == "push"))

    @rule()
    def a_push_is_heard_again(self) -> None:
        self.do(
            self.node.pushed(chunks(*(f"c{number}" for number in range(max(0, self.given - 3), self.given))))
        )

    @rule()
    def the_connection_is_new(self) -> None:
        """What was under way is lost; what the server did about it is not."""
        self.questions, self.words, self.is_connected = [], [], True
        self.do(self.node.connected())

    # The node

    @precondition(lambda self: self.running)
    @rule(pick=PICKS)
    def a_chunk_ends(self, pick: int) -> None:
        name = picked(sorted(self.running), pick)
        self.running.remove(name)
        self.do(self.node.ended(name, ENDING))

    @precondition(lambda self: self.is_connected)
    @rule()
    def the_node_says_that_it_is_there(self) -> None:
        self.ask("beat")

    @rule()
    def the_node_is_paused(self) -> None:
        self.do(self.node.hand_back(sorted(self.running)))

    @precondition(lambda self: self.is_connected)
    @rule()
    def all_becomes_quiet(self) -> None:
        """After a heartbeat, and all that follows from it, both mean the same."""
        for _ in range(3):
            self.deliver_all()
            self.ask("beat")
        self.deliver_all()
        assert {*self.node.held} == {*self.held}
        assert not self.node.owed

    @invariant()
    def what_is_held_runs(self) -> None:
        assert {*self.node.held} == self.running

    @invariant()
    def nothing_is_held_and_owed(self) -> None:
        assert not {*self.node.held} & {*self.node.owed}

    @invariant()
    def what_is_owed_is_on_its_way(self) -> None:
        if self.is_connected:
            told = {question.about[0] for question in self.questions if question.kind == "complete"}
            heard = {word.about for word in self.words if word.kind == "verdict"}
            assert {*self.node.owed} <= told | heard

    def give(self) -> str:
        name = f"c{self.given}"
        self.given += 1
        self.held[name] = None
        return name

    def answer(self, question: Question, *, gives: bool) -> None:
        word = Word("looked", question.asked)
        match question.kind:
            case "look":
                word.chunks = tuple(self.held)
            case "complete":
                (name,) = question.about
                if name in self.held:
                    del self.held[name]
                    self.done.add(name)
                word = Word("verdict", question.asked, name, (self.give(),) if gives else ())
            case "beat":
                word = Word("pulse", question.asked, digest=digest_of(self.held))
            case "hand back":
                for name in question.about:
                    self.held.pop(name, None)
                return
        self.words.append(word)

    def hear(self, word: Word) -> None:
        given = chunks(*word.chunks)
        match word.kind:
            case "push":
                self.do(self.node.pushed(given))
            case "looked":
                self.do(self.node.looked(given, asked=word.asked))
            case "verdict":
                self.node.settled(word.about)
                self.do(self.node.handed(given, asked=word.asked))
            case "pulse":
                self.do(self.node.felt(word.digest))

    def do(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Begin(chunks=begun):
                    names = {one.id for one in begun}
                    assert not names & self.running
                    self.running |= names
                case Drop(chunk_ids=dropped):
                    self.running -= {*dropped}
                case Offer(chunk_id=name):
                    self.ask("complete", name)
                case HandBack(chunk_ids=names_back):
                    self.ask("hand back", *names_back)
                case LookUp():
                    self.ask("look")

    def ask(self, kind: Any, *about: str) -> None:
        if self.is_connected:
            self.questions.append(Question(kind, self.node.turn, about))

    def deliver_all(self) -> None:
        while self.questions or self.words:
            while self.questions:
                self.answer(self.questions.pop(0), gives=False)
            while self.words:
                self.hear(self.words.pop(0))


def picked(names: Iterable[str], pick: int) -> str:
    found = list(names)
    return found[pick % len(found)]


TestNodeAndServer = NodeAndServer.TestCase
TestNodeAndServer.settings = settings(max_examples=150, stateful_step_count=40)


def test_what_came_after_the_question_is_not_undone_by_its_answer() -> None:
    node = Holdings()
    node.connected()
    asked = node.turn
    node.pushed(chunks("new"))
    assert node.looked([], asked=asked) == []
    assert {*node.held} == {"new"}


def test_what_ended_after_the_question_is_not_begun_again_by_its_answer() -> None:
    node = Holdings()
    node.pushed(chunks("a"))
    asked = node.turn
    node.ended("a", ENDING)
    node.settled("a")
    assert node.handed(chunks("a"), asked=asked) == []
    assert node.pushed(chunks("a")) == [], "a push may be old"


def test_what_the_server_has_forgotten_is_computed_again() -> None:
    node = Holdings()
    node.pushed(chunks("a"))
    node.ended("a", ENDING)
    node.settled("a")
    assert node.felt(digest_of(["a"])) == [LookUp()]
    assert node.looked(chunks("a"), asked=node.turn) == [Begin((chunk("a"),))]


def test_what_is_owed_belongs_to_what_the_server_believes() -> None:
    node = Holdings(owed={"a": ENDING})
    assert node.felt(digest_of(["a"])) == []
    assert node.looked(chunks("a"), asked=node.turn) == [], "it is told, not computed"
    assert node.connected() == [LookUp(), Offer("a")]
    assert not node.is_empty


def test_one_question_at_a_time() -> None:
    node = Holdings()
    assert node.felt("other") == [LookUp()]
    assert node.felt("other") == []
    assert node.looked([], asked=0) == [LookUp()], "it was worth a second look"
    assert node.looked([], asked=0) == []


def test_whoever_leaves_takes_nothing_and_gives_back_what_waits() -> None:
    node = Holdings()
    node.pushed(chunks("runs", "waits"))
    assert node.leave(["waits", "unknown"]) == [Drop(("waits",)), HandBack(("waits",))]
    assert node.pushed(chunks("late")) == [HandBack(("late",))]
    assert {*node.held} == {"runs"}


def test_what_is_past_is_remembered_within_bounds() -> None:
    node = Holdings()
    for number in range(MOST_PAST + 5):
        node.pushed(chunks(f"c{number}"))
        node.lost([f"c{number}"])
    assert node.pushed(chunks("c5")) == []
    assert node.pushed(chunks("c4")) != []
