"""What a header, a key and verified claims say."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.access.model import Principal
from shoal.access.rules import format_key, judge_claims, read_bearer, read_key_id
from shoal.runtime.errors import Unauthenticated

USER = UUID("6f1f0c6e-9a6b-4a0e-9d43-0d8f6c3c7d11")
CLAIMS = {"sub": str(USER), "role": "authenticated", "aud": "authenticated"}


def judge(claims: dict[str, object], *, may_be_service: bool = True) -> Principal:
    return judge_claims(claims, audience="authenticated", may_be_service=may_be_service)


def refusal(claims: dict[str, object], *, may_be_service: bool = True) -> str:
    with pytest.raises(Unauthenticated) as refused:
        judge(claims, may_be_service=may_be_service)
    return refused.value.code


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "abc", "  "])
def test_a_header_without_a_credential_is_a_missing_token(header: str | None) -> None:
    with pytest.raises(Unauthenticated) as refused:
        read_bearer(header)
    assert refused.value.code == "token_missing"


def test_the_scheme_is_read_in_any_case() -> None:
    assert read_bearer("bEARER  abc ") == "abc"


def test_an_endless_credential_is_refused_unread() -> None:
    with pytest.raises(Unauthenticated) as refused:
        read_bearer("Bearer " + "a" * 10_000)
    assert refused.value.code == "token_invalid"


@given(st.sampled_from(["service", "worker"]), st.uuids(), st.binary(min_size=32, max_size=32))
def test_a_formatted_key_gives_its_id_back(kind: str, key_id: UUID, secret: bytes) -> None:
    text = format_key(kind, key_id, secret.hex())  # type: ignore[arg-type]  # one of the two

    assert read_key_id(text) == key_id


@given(st.text())
def test_no_other_text_is_read_as_a_key(text: str) -> None:
    with pytest.raises(Unauthenticated):
        read_key_id("shoal_" + text)


def test_a_user_acts_with_their_own_claims_only() -> None:
    principal = judge({**CLAIMS, "role": "authenticated", "app_metadata": {"admin": True}})

    assert principal == Principal(kind="user", id=USER)
    assert principal.claims == {"sub": str(USER), "role": "authenticated"}


def test_services_and_workers_are_nobody_to_the_policies() -> None:
    for kind in ("service", "worker"):
        assert "sub" not in Principal(kind=kind, id=uuid4()).claims


def test_a_service_token_of_supabase_needs_no_subject_and_no_audience() -> None:
    first = judge({"role": "service_role", "iss": "supabase"})

    assert first.kind == "service"
    assert first == judge({"role": "service_role", "iss": "supabase"})


def test_a_service_token_of_another_audience_is_refused() -> None:
    assert refusal({"role": "service_role", "aud": "other"}) == "token_invalid"


def test_a_key_set_makes_no_services() -> None:
    assert refusal({**CLAIMS, "role": "service_role"}, may_be_service=False) == "token_invalid"


@pytest.mark.parametrize("role", ["anon", "postgres", "", None, ["authenticated"], 1])
def test_other_roles_are_refused(role: object) -> None:
    assert refusal({**CLAIMS, "role": role}) == "token_invalid"


@pytest.mark.parametrize("subject", [None, "", "me", 7, [], {}, str(USER) + "0"])
def test_a_subject_that_is_no_uuid_is_refused(subject: object) -> None:
    assert refusal({**CLAIMS, "sub": subject}) == "token_invalid"


@pytest.mark.parametrize("audience", [None, "", "other", ["other"], [], {"authenticated": 1}])
def test_a_token_for_others_is_refused(audience: object) -> None:
    assert refusal({**CLAIMS, "aud": audience}) == "token_invalid"


def test_one_of_several_audiences_is_enough() -> None:
    assert judge({**CLAIMS, "aud": ["other", "authenticated"]}).id == USER


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"user_metadata": {"full_name": "Ada Lovelace"}, "email": "a@b.c"}, "Ada Lovelace"),
        ({"user_metadata": {"name": "Ada"}}, "Ada"),
        ({"user_metadata": "?", "name": "", "email": "a@b.c"}, "a@b.c"),
        ({"name": "A\0d\na\x1b[31m"}, "Ada[31m"),
        ({"name": "x" * 1000}, "x" * 200),
        ({"name": 7}, ""),
    ],
)
def test_the_display_name_is_found_and_made_harmless(claims: dict[str, object], name: str) -> None:
    assert judge({**CLAIMS, **claims}).name == name
