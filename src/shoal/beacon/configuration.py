"""The configuration a Centrifugo (6 or newer) needs to be the beacon, made from the channels there are.

No secret stands in it: Centrifugo reads those from its environment. Clients are let in in one of two ways:

* By token (the usual one). Connect is then never asked, and a refresh proxy would keep clients from
  renewing their tokens; so both are off.
* By the connect proxy: clients send their token as data, and the sentinel also decides who may stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.beacon.namespaces import NAMESPACES, Namespace
from shoal.beacon.settings import BeaconSettings

PROXY_SECRET_HEADER = "X-Centrifugo-Proxy-Secret"  # noqa: S105 - a name
PROXY_SECRET_VARIABLE = "CENTRIFUGO_VAR_PROXY_SECRET"  # noqa: S105 - a name

ASK_WITHIN = "3s"
PUBLISH_WITHIN = "5s"
"""Less than the pong timeout (8 s): a client whose pong waits behind a call must not be cut off."""
CALLS_AT_ONCE = 16
"""Per client. With 0, a pong waits for the call before it."""


@dataclass(frozen=True)
class RedisServer:
    """Where Centrifugo finds its Redis: addresses of the server, or of sentinels that know the master."""

    addresses: Sequence[str]
    master: str = ""


def configuration(
    *,
    sentinel_url: str,
    redis: RedisServer,
    origins: Sequence[str],
    is_connect_asked: bool = False,
    port: int = 8000,
    internal_port: int = 9000,
) -> dict[str, Any]:
    """
    * ``sentinel_url``: where Centrifugo finds the sentinels, usually a load balancer.
    * ``origins``: pages that may connect. A client that is no browser needs none.
    """

    def proxy(path: str, timeout: str = ASK_WITHIN) -> dict[str, Any]:
        return _proxy(f"{sentinel_url.rstrip('/')}/proxy/{path}", timeout)

    client: dict[str, Any] = {"allowed_origins": list(origins), "concurrency": CALLS_AT_ONCE}
    if is_connect_asked:
        client["proxy"] = {
            "connect": {"enabled": True, **proxy("connect")},
            "refresh": {"enabled": True, **proxy("refresh"), "include_connection_meta": True},
        }
    return {
        "engine": {"type": "redis", "redis": _redis(redis)},
        "client": client,
        "channel": {
            "proxy": {
                "subscribe": {**proxy("subscribe"), "include_connection_meta": True},
                "publish": {**proxy("publish", PUBLISH_WITHIN), "include_connection_meta": True},
            },
            "namespaces": [_namespace(name, namespace) for name, namespace in NAMESPACES.items()],
        },
        "rpc": {
            "proxy": {**proxy("rpc", PUBLISH_WITHIN), "include_connection_meta": True},
            "without_namespace": {"proxy_enabled": True},
        },
        "http_server": {"port": port, "internal_port": str(internal_port)},
        "health": {"enabled": True},
        "prometheus": {"enabled": True},
        "usage_stats": {"disabled": True},
        "log": {"level": "info"},
    }


def environment(settings: BeaconSettings) -> Mapping[str, str]:
    """What must stand in Centrifugo's environment, by name."""
    return {
        "CENTRIFUGO_CLIENT_TOKEN_HMAC_SECRET_KEY": settings.centrifugo_token_secret,
        "CENTRIFUGO_HTTP_API_KEY": settings.centrifugo_api_key,
        PROXY_SECRET_VARIABLE: settings.centrifugo_proxy_secret,
    }


def _proxy(endpoint: str, timeout: str) -> dict[str, Any]:
    return {
        "endpoint": endpoint,
        "timeout": timeout,
        "http": {
            "static_headers": {PROXY_SECRET_HEADER: f"${{{PROXY_SECRET_VARIABLE}}}"},
            # What cannot be read will not be readable the next time either.
            "status_to_code_transforms": [
                {"status_code": 400, "to_error": {"code": 107, "message": "bad request"}}
            ],
        },
    }


def _redis(redis: RedisServer) -> dict[str, Any]:
    if redis.master:
        return {"sentinel_address": list(redis.addresses), "sentinel_master_name": redis.master}
    return {"address": list(redis.addresses)}


def _namespace(name: str, namespace: Namespace) -> dict[str, Any]:
    written: dict[str, Any] = {"name": name}
    options = namespace.options
    if options.presence:
        written["presence"] = True
    if options.join_leave:
        written |= {"join_leave": True, "force_push_join_leave": True}
    if options.history_size:
        written |= {"history_size": options.history_size, "history_ttl": f"{options.history_ttl_s}s"}
    if options.recovery:
        written["force_recovery"] = True
    if namespace.subscribe:
        written["subscribe_proxy_enabled"] = True
    if namespace.publish:
        written["publish_proxy_enabled"] = True
    return written
