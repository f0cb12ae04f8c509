"""Signed links into a folder vault, served by the API."""

from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import quote, urlsplit

import httpx
import pytest
import pytest_asyncio

from shoal.api.files import disposition
from shoal.vault.store import Vault

from .serving import Api

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTENT = bytes(range(256)) * 1000
KEY = "jobs/17/ein Bericht ü.bin"


async def pieces() -> AsyncIterator[bytes]:
    for start in range(0, len(CONTENT), 10_000):
        yield CONTENT[start : start + 10_000]


@pytest_asyncio.fixture(loop_scope="session")
async def path(vault: Vault) -> str:
    """The path and query of a good link."""
    await vault.put(KEY, pieces(), content_type="text/html")
    link = await vault.link(
        KEY, content_type="text/html", filename="ein Bericht ü.html", expires_in=timedelta(hours=1)
    )
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


async def test_a_link_reads_the_file_as_a_foreign_page(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    assert answer.status_code == 200
    assert answer.content == CONTENT
    assert answer.headers["content-type"] == "text/html"
    assert answer.headers["content-length"] == str(len(CONTENT))
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == (
        "inline; filename=\"ein Bericht _.html\"; filename*=UTF-8''ein%20Bericht%20%C3%BC.html"
    )


async def test_head_says_the_same_without_the_bytes(client: httpx.AsyncClient, path: str) -> None:
    head, whole = await client.head(path), await client.get(path)

    assert head.content == b""
    for name in ("content-length", "content-type", "etag", "accept-ranges", "content-disposition"):
        assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("0-0", 0, 1),
        ("100-199", 100, 200),
        ("255990-", 255_990, 256_000),
        ("-10", 255_990, 256_000),
        ("0-999999999999999999999", 0, 256_000),
    ],
)
async def test_a_range_is_served(
    client: httpx.AsyncClient, path: str, asked: str, start: int, end: int
) -> None:
    answer = await client.get(path, headers={"Range": f"bytes={asked}"})

    assert answer.status_code == 206
    assert answer.content == CONTENT[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/256000"
    assert answer.headers["content-length"] == str(end - start)


@pytest.mark.parametrize("asked", ["256000-", "-0"])
async def test_a_range_outside_is_refused(client: httpx.AsyncClient, path: str, asked: str) -> None:
    answer = await client.get(path, headers={"Range": f"bytes={asked}"})

    assert answer.status_code == 416
    assert answer.headers["content-range"] == "bytes */256000"
    assert answer.json()["code"] == "range_not_satisfiable"


@pytest.mark.parametrize("asked", ["bytes=5-1", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6"])
async def test_a_range_that_cannot_be_read_is_ignored(
    client: httpx.AsyncClient, path: str, asked: str
) -> None:
    answer = await client.get(path, headers={"Range": asked})

    assert (answer.status_code, answer.content) == (200, CONTENT)


async def test_a_range_of_another_version_gives_the_whole_file(client: httpx.AsyncClient, path: str) -> None:
    etag = (await client.head(path)).headers["etag"]

    same = await client.get(path, headers={"Range": "bytes=0-9", "If-Range": etag})
    other = await client.get(path, headers={"Range": "bytes=0-9", "If-Range": '"old"'})

    assert (same.status_code, same.content) == (206, CONTENT[:10])
    assert (other.status_code, other.content) == (200, CONTENT)


async def test_what_the_reader_has_is_not_sent_again(client: httpx.AsyncClient, path: str) -> None:
    etag = (await client.head(path)).headers["etag"]

    answer = await client.get(path, headers={"If-None-Match": etag})

    assert (answer.status_code, answer.content) == (304, b"")


async def test_an_empty_file_is_served(client: httpx.AsyncClient, vault: Vault) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        no_blocks: list[bytes] = []
        for block in no_blocks:
            yield block

    await vault.put("empty", nothing(), content_type="text/plain")
    link = await vault.link("empty", content_type="text/plain", expires_in=timedelta(hours=1))
    parts = urlsplit(link)

    answer = await client.get(f"{parts.path}?{parts.query}")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-disposition"] == "inline"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jobs/17", "jobs/18"),
        ("text%2Fhtml", "image%2Fsvg"),
        ("name=ein", "name=dein"),
        ("expires=1", "expires=2"),
        ("signature=", "signature=0"),
        ("&signature", "&x=1&signature"),
    ],
)
async def test_a_changed_link_is_refused(client: httpx.AsyncClient, path: str, old: str, new: str) -> None:
    assert old in path

    answer = await client.get(path.replace(old, new, 1))

    assert (answer.status_code, answer.json()["code"]) == (403, "link_invalid")


async def test_a_link_without_its_query_is_refused(client: httpx.AsyncClient, path: str) -> None:
    for query in ("", "?", "?type=text%2Fhtml", "?" + "a=1&" * 100, "?expires=1e999", "?%ff"):
        answer = await client.get(path.partition("?")[0] + query)
        assert (answer.status_code, answer.json()["code"]) == (403, "link_invalid"), query


async def test_a_file_that_has_gone_is_not_found(client: httpx.AsyncClient, vault: Vault, path: str) -> None:
    await vault.delete([KEY])

    answer = await client.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")


@pytest.mark.parametrize(
    "escape",
    [
        b"../../../../etc/passwd",
        b"..%2f..%2f..%2fetc%2fpasswd",
        b"%2e%2e/%2e%2e/etc/passwd",
        b"/etc/passwd",
        b"jobs/17/../../../secret",
        b"jobs%5c..%5c..%5csecret",
        b"a%00b",
        b"%ff%fe",
        b".incoming/x",
        b"x" * 5000,
    ],
)
async def test_no_address_leaves_the_vault(api: Api, path: str, escape: bytes) -> None:
    query = path.partition("?")[2].encode()

    answer = await api.raw(
        b"GET /files/" + escape + b"?" + query + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    )

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b'"code":"link_invalid"' in answer


async def test_a_file_name_cannot_break_out_of_its_header() -> None:
    shown = disposition('a"; filename=b\r\nx: y\\')

    assert shown.startswith('inline; filename="a__ filename_b__x_ y_"; ')
    assert quote('"') in shown
    assert "\r" not in shown
