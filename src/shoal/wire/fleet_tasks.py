"""The input of a task whose executor is the fleet: what its plan is made of."""

from typing import Annotated, Any, Literal

import msgspec

from shoal.wire.fleet import LARGEST, ConfigHash, EngineIdentity, Number

Audience = Literal["own", "shared", "public"]
Reducer = Literal["moments", "collect"]


class FleetTask(
    msgspec.Struct,
    rename="camel",
    forbid_unknown_fields=True,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
):
    """One of three says what the config is: ``config`` itself, ``config_hash`` of one that was stored before,
    or ``config_from``, the name of a task this one needs, whose output it is.

    * ``size`` is how many iterations a chunk has.
    * ``audience`` says who may run it: the nodes of the owner; with ``shared`` also those that let the owner
      in, by name or by Discord server; with ``public`` also those that are open to everybody.
    * ``least`` and ``most`` are what the numbers of the engine lie between.
    * ``replication`` is the share of the chunks that nodes of two owners compute, and ``tolerance`` how far
      their numbers may be apart, relative to themselves.
    """

    engine: EngineIdentity
    iterations: Annotated[int, msgspec.Meta(ge=1, lt=LARGEST)]
    size: Annotated[int, msgspec.Meta(ge=1, lt=LARGEST)]
    reducer: Reducer = "moments"
    least: float = 0.0
    most: float = 10_000_000.0
    seed: Number = 0
    audience: Audience = "own"
    config: Any = None
    config_hash: ConfigHash | None = None
    config_from: str | None = None
    replication: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
