"""The vault's URL: what it names, and what is refused."""

from pathlib import Path

import pytest

from shoal.runtime.errors import Invalid
from shoal.vault.address import BucketAddress, FolderAddress, parse_vault_url
from shoal.vault.bucket import MOST_PARTS, SMALLEST_PART, part_size


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("file:///var/lib/shoal", FolderAddress(Path("/var/lib/shoal"))),
        ("file://localhost/a%20b/", FolderAddress(Path("/a b"))),
        ("s3://bucket", BucketAddress("s3", "bucket", None)),
        ("s3://bucket/", BucketAddress("s3", "bucket", None)),
        ("gs://my.bucket/pre/fix/", BucketAddress("gs", "my.bucket", "pre/fix")),
        ("az://container/pre%20fix", BucketAddress("az", "container", "pre fix")),
    ],
)
def test_a_url_is_taken_apart(url: str, address: object) -> None:
    assert parse_vault_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        *("bucket", "/var/lib", "http://bucket", "memory://", "file://relative/path", "file:path"),
        *("s3://", "s3:///prefix", "s3://b/../c", "s3://b/a//c", "s3://user:pass@b", "s3://b?x=1"),
        *("gs://b#x", "s3://[b", "s3://b:80/x", "file:///a%00b", "s3://b/" + "x" * 256),
    ],
)
def test_a_url_that_cannot_work_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_vault_url(url)
    assert refusal.value.code == "invalid_vault_url"
    assert "pass" not in refusal.value.message


def test_no_url_at_all_has_a_message_of_its_own() -> None:
    with pytest.raises(Invalid) as refusal:
        parse_vault_url("")
    assert refusal.value.code == "vault_url_missing"


@pytest.mark.parametrize("bound", [None, 0, 1, 10**9, 10**12, 5 * 10**12])
def test_no_upload_has_more_parts_than_a_bucket_takes(bound: int | None) -> None:
    assert part_size(bound) >= SMALLEST_PART
    assert part_size(bound) * MOST_PARTS >= (bound or 0)
