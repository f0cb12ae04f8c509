"""Connecting to the beacon: the token of a client."""

from datetime import datetime

import msgspec


class BeaconToken(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``POST /api/token``. ``url`` is where to connect with ``token``."""

    token: str
    expires_at: datetime
    url: str
