"""Buckets, as far as they go without one: URLs, prefixes, signatures, and one that is not there."""

import asyncio
import base64
import json
import os
import sys
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from shoal.runtime.errors import Invalid, Unavailable
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault

HOUR = timedelta(hours=1)
CLOUDS = ("AWS_", "AZURE_", "GOOGLE_", "GCS_")


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(CLOUDS):
            monkeypatch.delenv(name)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fake")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "fake")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


async def signed(url: str, key: str = "a/b c.pdf") -> tuple[str, dict[str, list[str]]]:
    vault = open_vault(VaultSettings(vault_url=url))
    link = await vault.link(key, content_type="application/pdf", expires_in=HOUR)
    parts = urlsplit(link)
    return f"{parts.scheme}://{parts.netloc}{parts.path}", parse_qs(parts.query)


@pytest.mark.usefixtures("s3")
async def test_s3_signs_a_link_with_an_end_under_the_prefix() -> None:
    place, query = await signed("s3://bucket/pre/fix")
    assert place == "https://s3.eu-west-1.amazonaws.com/bucket/pre/fix/a/b%20c.pdf"
    assert query["X-Amz-Expires"] == ["3600"]
    assert query["X-Amz-Signature"]
    place, _ = await signed("s3://bucket")
    assert place.endswith("/bucket/a/b%20c.pdf")


@pytest.mark.usefixtures("s3")
async def test_an_s3_of_ones_own_is_named_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    place, _ = await signed("s3://bucket/x", "k")
    assert place == "http://127.0.0.1:9000/bucket/x/k"


async def test_azure_signs_a_link_with_an_end_under_the_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"fake").decode())
    place, query = await signed("az://container/pre/fix")
    assert place == "https://account.blob.core.windows.net/container/pre/fix/a/b%20c.pdf"
    assert query["se"]
    assert query["sig"]
    assert query["sp"] == ["r"]


async def test_gcs_signs_a_link_with_an_end_under_the_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    account = {
        "type": "service_account",
        "client_email": "shoal@example.test",
        "private_key_id": "1",
        "private_key": key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    }
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(account))
    place, query = await signed("gs://bucket/pre/fix")
    assert place == "https://storage.googleapis.com/bucket/pre/fix/a/b%20c.pdf"
    assert query["X-Goog-Expires"] == ["3600"]
    assert query["X-Goog-Signature"]


def test_a_bucket_without_its_settings_says_where_they_belong() -> None:
    with pytest.raises(Invalid) as refusal:
        open_vault(VaultSettings(vault_url="az://container"))
    assert refusal.value.code == "vault_misconfigured"
    assert "AZURE_" in refusal.value.hint
    assert "\n" not in refusal.value.message


def test_settings_that_cannot_be_read_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", '{"private_key": "s3cret"}')
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "s3cret!")
    for url in ("gs://bucket", "az://container"):
        with pytest.raises(Invalid) as refusal:
            open_vault(VaultSettings(vault_url=url))
        assert "s3cret" not in str(refusal.value)


@pytest.mark.usefixtures("s3")
async def test_a_bucket_that_does_not_answer_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setattr("shoal.vault.bucket._RETRY", {"max_retries": 0})
    vault = open_vault(VaultSettings(vault_url="s3://bucket"))
    with pytest.raises(Unavailable) as refusal:
        await vault.check()
    assert refusal.value.code == "vault_unavailable"
    with pytest.raises(Unavailable):
        await vault.put("a", b"x", content_type="text/plain")
    with pytest.raises(Unavailable):
        await vault.find("a")


@pytest.mark.usefixtures("s3")
async def test_a_process_that_used_a_bucket_ends_with_its_own_exit_code() -> None:
    program = """
import asyncio
from datetime import timedelta
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
vault = open_vault(VaultSettings(vault_url="s3://bucket"))
async def main():
    hour = timedelta(hours=1)
    await asyncio.gather(*(vault.link("a", content_type="a/b", expires_in=hour) for _ in range(50)))
asyncio.run(main())
"""
    # Without the pause at the exit of a process, about one in four is aborted.
    processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", program) for _ in range(6)]
    assert [await process.wait() for process in processes] == [0] * 6
