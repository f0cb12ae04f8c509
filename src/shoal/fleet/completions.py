"""Results on their way in: checked before anything is touched, then counted in batches.

Everything that comes in within one turn of the event loop travels in one call of the script; while that is
under way, the next batch gathers.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from shoal.app.moments import moments_in
from shoal.app.reducers import checked_result
from shoal.fleet.brain import MOST_PER_CALL, FleetBrain
from shoal.fleet.facts import PlanFacts
from shoal.fleet.measures import FleetMeasures
from shoal.fleet.model import Attempt, Completed, Completion, Moments
from shoal.fleet.pushes import Pushes, held
from shoal.fleet.tasks import FleetTasks
from shoal.runtime.batches import Batches
from shoal.runtime.errors import Invalid, TooLarge
from shoal.vault.store import Vault
from shoal.wire.fleet import ChunkVerdict, Verdict
from shoal.wire.results import ChunkMoments

LONGEST_REASON = 500


class Completions:
    """``on_full`` hears of each plan whose last chunk was counted."""

    def __init__(
        self,
        brain: FleetBrain,
        tasks: FleetTasks,
        *,
        vault: Vault,
        pushes: Pushes,
        measures: FleetMeasures,
        on_full: Callable[[str], object],
    ) -> None:
        self._brain = brain
        self._tasks = tasks
        self._vault = vault
        self._pushes = pushes
        self._measures = measures
        self._on_full = on_full
        self._batches: Batches[Completion, Completed] = Batches(brain.complete_chunk, limit=MOST_PER_CALL)

    async def complete(self, node: str, chunk_id: str, result: Any, *, wanted: int) -> ChunkVerdict:
        attempt = Attempt.parse(chunk_id)
        facts = await self._tasks.facts(attempt.task) if attempt else None
        if attempt is None or facts is None or attempt.index >= facts.total:
            self._measures.completed("NOT_FOUND")
            return ChunkVerdict(verdict="NOT_FOUND", chunks=[])
        try:
            completion = await self._checked(node, attempt, facts, result, wanted)
        except (Invalid, TooLarge) as error:
            reason = error.message[:LONGEST_REASON]
            return await self._refuse(node, attempt, f"{error.code}: {reason}", wanted=wanted)
        done = await self._batches.submit(completion)
        self._measures.completed(done.verdict)
        if done.verdict != "OK" and completion.where and done.verdict != "ALREADY_COMPLETED":
            await self._vault.delete([completion.where])
        if others := [lost for lost in done.freed if lost[0] != node]:
            await self._pushes.dropped(others)
        if done.aggregate:
            self._on_full(attempt.task)
        return ChunkVerdict(verdict=done.verdict, chunks=[held(one) for one in done.next])

    async def _checked(
        self, node: str, attempt: Attempt, facts: PlanFacts, result: Any, wanted: int
    ) -> Completion:
        iterations = facts.iterations_of(attempt.index)
        found = checked_result(facts.reducer, result, iterations=iterations, bounds=facts.bounds)
        if isinstance(found, ChunkMoments):
            part = moments_in(found)
            moments = Moments(part.count, part.mean, part.m2, part.least, part.greatest)
            return Completion(node=node, attempt=attempt, moments=moments, wanted=wanted)
        text = msgspec.json.encode(found)
        name = f"{attempt.index}-{attempt.attempt}-{hashlib.sha256(text).hexdigest()[:16]}.json"
        where = f"{facts.folder}/{name}"
        await self._vault.put(where, text, content_type="application/json")
        return Completion(node=node, attempt=attempt, where=where, wanted=wanted)

    async def fail(self, node: str, chunk_id: str, reason: str) -> None:
        """The node says that it cannot compute the chunk."""
        attempt = Attempt.parse(chunk_id)
        if attempt is not None:
            await self._brain.fail_chunk(node, attempt, reason=reason, wanted=0)
            self._measures.completed("FAILED")

    async def _refuse(self, node: str, attempt: Attempt, reason: str, *, wanted: int) -> ChunkVerdict:
        """Its result is none. Who does not hold the chunk hears that, and no more."""
        verdict, found = await self._brain.fail_chunk(node, attempt, reason=reason, wanted=wanted)
        word: Verdict = "INVALID" if verdict == "OK" else verdict
        self._measures.completed(word)
        return ChunkVerdict(verdict=word, reason=reason, chunks=[held(one) for one in found])
