"""A step for the fleet: what is written of it, and what it comes to when a job is tried out here."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from shoal.app.engine import Engine
from shoal.app.iterations import Iterations
from shoal.app.reducers import collected_values, merged_moments
from shoal.app.values import as_json_values
from shoal.runtime.errors import Invalid
from shoal.wire.fleet_tasks import Audience, FleetTask
from shoal.wire.results import ChunkMoments, ChunkValues

USUAL_CHUNKS = 1000
MOST_COLLECTED = 10_000
MOST_CHUNKS = 1_000_000_000
LARGEST_INPUT = 60_000


def chunk_size(iterations: int, batch: int) -> int:
    """How many iterations a chunk has when nobody says: what an engine is asked for at once at most, and a
    tenth of it at least; in between so many that there are a thousand chunks.
    """
    least, most = math.ceil(batch / 10), batch
    return min(iterations, max(least, min(most, math.ceil(iterations / USUAL_CHUNKS))))


def fleet_task(
    engine: Engine,
    config: object,
    *,
    iterations: int,
    size: int | None,
    seed: int,
    audience: Audience,
    config_hash: str | None,
    config_from: str | None,
    replication: float,
    tolerance: float,
) -> FleetTask:
    """What the ledger keeps of it; raises ``invalid_graph`` for what no fleet could run."""
    if sum(one is not None for one in (config, config_hash, config_from)) > 1:
        raise _wrong("has more than one config", "Give config, config_hash or config_from.")
    values: Any = None
    if config_hash is None and config_from is None:
        values = as_json_values({} if config is None else config)
        engine.config_of(values)
        if len(msgspec.json.encode(values)) > LARGEST_INPUT:
            raise _wrong(
                "has a config that is too large for the graph",
                "Store it with PUT /api/configs; give its hash.",
            )
    if replication and audience == "own":
        raise _wrong(
            "asks for results of two owners and lets only one compute",
            'Say audience="shared" or "public", or leave replication out.',
        )
    written = {
        "engine": engine.identity,
        "iterations": iterations,
        "size": size or chunk_size(max(iterations, 1), engine.batch),
        "reducer": engine.reducer,
        "least": engine.bounds.least,
        "most": engine.bounds.most,
        "seed": seed,
        "audience": audience,
        "config": values,
        "configHash": config_hash,
        "configFrom": config_from,
        "replication": replication,
        "tolerance": tolerance,
    }
    try:
        task = msgspec.convert(written, FleetTask)
    except msgspec.ValidationError as error:
        raise _wrong(f"cannot run: {error}", "") from error
    if math.ceil(task.iterations / task.size) > (
        most := MOST_COLLECTED if task.reducer == "collect" else MOST_CHUNKS
    ):
        raise _wrong(f"has more than {most} chunks", "Make the chunks larger.")
    return task


def computed_here(engines: Mapping[str, Engine], task: FleetTask, needs: Mapping[str, Any]) -> Any:
    """The result of the task as the fleet would give it, computed in this process."""
    engine = next((one for one in engines.values() if one.identity == task.engine), None)
    if engine is None:
        raise Invalid("unknown_engine", f"The app declares no engine {task.engine}.")
    if task.config_hash is not None:
        raise Invalid("config_unknown", "A trial does not know the configs that a server keeps.")
    config = needs[task.config_from] if task.config_from is not None else task.config
    ranges = Iterations(task.seed, 0, task.iterations).cut(task.size)
    results = {one.first: engine.compute(config, one) for one in ranges}
    moments = [one for one in results.values() if isinstance(one, ChunkMoments)]
    if moments:
        return msgspec.to_builtins(merged_moments(moments))
    values = {first: one for first, one in results.items() if isinstance(one, ChunkValues)}
    return msgspec.to_builtins(collected_values(values))


def _wrong(what: str, hint: str) -> Invalid:
    return Invalid("invalid_graph", f"A task for the fleet {what}.", hint=hint)
