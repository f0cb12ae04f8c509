"""A node's key stays on its machine, and what it signs is its own."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal.node.identity import host_of, open_identity
from shoal.runtime.errors import Invalid
from shoal.runtime.signatures import (
    SignedRequest,
    hash_body,
    holds,
    read_signature,
    string_to_sign,
)


def test_a_key_is_made_once_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "node.key"
    umask = os.umask(0)
    try:
        made = open_identity(file)
    finally:
        os.umask(umask)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert open_identity(file).public_key == made.public_key
    assert [one.name for one in file.parent.iterdir()] == ["node.key"]
    assert open_identity(tmp_path / "other.key").public_key != made.public_key


def test_processes_that_begin_together_are_one_node(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: open_identity(tmp_path / "node.key").public_key, range(16)))
    assert len(set(made)) == 1


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "node.key"
    open_identity(file)
    file.chmod(0o640)
    with pytest.raises(Invalid) as refused:
        open_identity(file)
    assert refused.value.code == "node_key_exposed"


@pytest.mark.parametrize("text", ["", "xyz", "ab" * 31, "ab" * 33])
def test_a_damaged_key_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    file = tmp_path / "node.key"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(Invalid) as refused:
        open_identity(file)
    assert refused.value.code == "node_key_damaged"
    assert file.read_text() == text


def test_it_signs_what_is_sent_and_shows_no_secret(tmp_path: Path) -> None:
    identity = open_identity(tmp_path / "node.key")
    headers = identity.sign("PUT", "https://Shoal.example:443/config/x?a=1", b"body")

    version, signature = read_signature(headers["X-Shoal-Signature"])
    sent = SignedRequest(
        method="PUT",
        host="shoal.example",
        path="/config/x",
        query="a=1",
        timestamp=headers["X-Shoal-Timestamp"],
        nonce=headers["X-Shoal-Nonce"],
        body_hash=hash_body(b"body"),
    )
    assert version == 2
    assert holds(bytes.fromhex(headers["X-Shoal-Key"]), signature, string_to_sign(sent, 2))
    assert headers["X-Shoal-Nonce"] != identity.sign("PUT", "https://shoal.example/")["X-Shoal-Nonce"]
    assert (tmp_path / "node.key").read_text() not in repr(identity) + str(headers)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.example/x", "a.example"),
        ("http://a.example:80", "a.example"),
        ("http://a.example:443", "a.example:443"),
        ("https://[::1]:8700/x", "[::1]:8700"),
    ],
)
def test_the_host_is_the_one_clients_send(url: str, host: str) -> None:
    assert host_of(url) == host
