"""An engine tried out in this very process: no node, no server. For the tests of its author.

::

    assert try_engine(app, "dps", config, iterations=1000)["meanDps"] == pytest.approx(2000, rel=0.1)

The answer is the one a fleet would give, into however many chunks the iterations are cut.
"""

from typing import Any

import msgspec

from shoal.app.declare import App
from shoal.app.iterations import Iterations
from shoal.app.reducers import collected_values, merged_moments
from shoal.app.values import as_json
from shoal.runtime.errors import Invalid
from shoal.wire.results import ChunkMoments, ChunkValues


def try_engine(
    app: App, name: str, config: object, *, iterations: int, chunks: int = 1, seed: int = 0
) -> Any:
    """The result of a job over these iterations, from 0 on, as JSON values."""
    engine = app.engines.get(name)
    if engine is None:
        raise Invalid("unknown_engine", f"The app declares no engine {name!r}.")
    if not 1 <= chunks <= iterations:
        raise Invalid("invalid_iterations", f"{iterations} iterations cannot be cut into {chunks} chunks.")
    given = msgspec.json.decode(as_json(config))
    size = -(-iterations // chunks)
    results = {
        chunk.first: engine.compute(given, chunk) for chunk in Iterations(seed, 0, iterations).cut(size)
    }
    moments = [result for result in results.values() if isinstance(result, ChunkMoments)]
    if moments:
        return msgspec.to_builtins(merged_moments(moments))
    values = {first: result for first, result in results.items() if isinstance(result, ChunkValues)}
    return msgspec.to_builtins(collected_values(values))
