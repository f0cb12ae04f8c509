"""The brain's settings."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET


class BrainSettings(msgspec.Struct, frozen=True, kw_only=True):
    redis_url: Annotated[
        str,
        msgspec.Meta(
            description=(
                "Redis 7 or Valkey: redis://, rediss://, unix:///path/to.sock, or "
                "redis+sentinel://[user:password@]host:port,host:port/master[/db]."
            ),
            extra=SECRET,
        ),
    ] = ""
