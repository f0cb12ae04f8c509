"""Where the brain is: a Redis URL taken apart, and shown without its password. Pure."""

from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from shoal.runtime.errors import Invalid

SENTINEL_SCHEME = "redis+sentinel"
SENTINEL_PORT = 26379
SCHEMES = ("redis", "rediss", "unix", SENTINEL_SCHEME)


@dataclass(frozen=True)
class SentinelAddress:
    """A master known by name to some sentinels. User and password are the master's."""

    hosts: tuple[tuple[str, int], ...]
    master: str
    db: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Address:
    """``shown`` may be logged: it names the host, never the user or the password."""

    shown: str
    url: str = field(repr=False)
    sentinel: SentinelAddress | None = None


def parse_address(url: str) -> Address:
    if not url:
        raise Invalid(
            "redis_url_missing",
            "The setting redis_url is empty.",
            hint="Set SHOAL_REDIS_URL, for example to redis://localhost:6379/0.",
        )
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise _invalid(f"it does not start with {', '.join(f'{one}://' for one in SCHEMES)}")
    # The host is looked at in our own words first: the errors of the libraries quote passwords.
    place, _, query = rest.partition("?")
    if "@" in query:
        raise _invalid("a ? or @ in a user or a password must be written as %3F or %40")
    shown = f"{scheme}://{place.rpartition('@')[2]}"
    if scheme == SENTINEL_SCHEME:
        return Address(shown, url, _sentinel(place))
    if scheme == "unix":
        if not place.rpartition("@")[2].startswith("/"):
            raise _invalid("unix:// needs the absolute path of a socket")
        return Address(shown, url)
    _check_server(url)
    return Address(shown, url)


def _check_server(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _invalid("its host or port is malformed") from None
    if not host:
        raise _invalid("it names no host")
    path = parts.path.strip("/")
    db = parse_qs(parts.query).get("db", [path])[0]
    if db and not (db.isascii() and db.isdecimal()):
        raise _invalid("the database after the host is not a number")


def _sentinel(place: str) -> SentinelAddress:
    authority, _, path = place.partition("/")
    login, _, hosts = authority.rpartition("@")
    username, _, password = login.partition(":")
    master, _, db = path.strip("/").partition("/")
    if not master:
        raise _invalid("a Sentinel URL names its master after the hosts, as in …/mymaster")
    if db and not (db.isascii() and db.isdecimal()):
        raise _invalid("the database after the master is not a number")
    return SentinelAddress(
        hosts=tuple(_host(one) for one in hosts.split(",")),
        master=unquote(master),
        db=int(db or 0),
        username=unquote(username) or None,
        password=unquote(password) or None,
    )


def _host(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _invalid("one of its hosts is malformed") from None
    if not host:
        raise _invalid("one of its hosts is empty")
    return host, SENTINEL_PORT if port is None else port


def _invalid(why: str) -> Invalid:
    return Invalid(
        "invalid_redis_url",
        f"The setting redis_url cannot be used: {why}.",
        hint="Write redis://host:6379/0, unix:///path/to.sock or "
        "redis+sentinel://host:26379,host2:26379/mymaster/0.",
    )
