"""Where the ledger is: a database URL looked at before anybody connects, and shown without secrets. Pure.

asyncpg takes a URL apart from the left and quotes what it does not understand. So a password with an
``@`` or a ``/`` in it would end up in an error message, or in a question to the name server.
"""

from urllib.parse import urlsplit

from shoal.runtime.errors import Invalid

SCHEMES = ("postgresql", "postgres")


def check_address(url: str) -> None:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise malformed("it does not start with postgresql://")
    login_and_host = rest.replace("?", "/").replace("#", "/").partition("/")[0]
    if "@" in rest[len(login_and_host) :] or login_and_host.count("@") > 1:
        raise malformed("a / ? # or @ in a name or a password must be written as %2F, %3F, %23 or %40")
    try:
        _ = urlsplit(url).hostname
    except ValueError:
        raise malformed("its host or port is malformed") from None


def malformed(why: str) -> Invalid:
    return Invalid(
        "database_url_malformed",
        f"The database address cannot be understood: {why}.",
        hint="It looks like postgresql://user:password@host:5432/name.",
    )


def shown(url: str) -> str:
    """Host and port, for messages."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the configured address"
    return f"{parts.hostname or 'a local socket'}{port}"
