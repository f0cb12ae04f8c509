"""Settings: who wins, what is refused, and that no secret is ever shown."""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.errors import Invalid
from shoal.runtime.settings import SECRET, Settings, read_settings

PASSWORD = "s3cret-Zq7x"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    sample_url: Annotated[str, msgspec.Meta(description="Where it is.")] = "http://default"
    sample_size: Annotated[int, msgspec.Meta(description="How many.", ge=1)] = 10
    sample_wait_s: float = 0.5
    sample_on: bool = False
    sample_level: Literal["low", "high"] = "low"
    sample_folder: Annotated[Path, msgspec.Meta(description="A folder.")] = Path("data")
    sample_names: tuple[str, ...] = ()
    sample_numbers: tuple[int, ...] = ()
    sample_key: Annotated[str, msgspec.Meta(description="The key.", extra=SECRET)] = ""
    sample_pin: Annotated[int, msgspec.Meta(description="The pin.", extra=SECRET)] = 0
    sample_limit: int | None = None


class Other(msgspec.Struct, frozen=True, kw_only=True):
    other_size: int = 1


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test may find a shoal.toml by accident."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(
    flags: dict[str, object] | None = None,
    environ: dict[str, str] | None = None,
    file: Path | None = None,
    found: dict[str, object] | None = None,
) -> Settings:
    return read_settings([Sample, Other], flags=flags or {}, environ=environ or {}, file=file, found=found)


def refusal(**given_: Any) -> Invalid:
    with pytest.raises(Invalid) as refused:
        read(**given_)
    return refused.value


def source_of(settings: Settings, name: str) -> str:
    return next(row.source for row in settings.rows if row.name == name)


def test_without_anything_the_defaults_hold() -> None:
    settings = read()
    assert settings[Sample] == Sample()
    assert settings[Other] == Other()
    assert {row.source for row in settings.rows} == {"default"}


@given(st.sets(st.sampled_from(["data directory", "file", "environment", "command line"])))
def test_the_nearest_to_the_user_wins(given_in: set[str]) -> None:
    """Flags over the environment over a file over what a data directory offers over defaults."""
    nearest = ["command line", "environment", "file", "data directory"]
    winner = next((place for place in nearest if place in given_in), "default")
    file = Path("given.toml")
    file.write_text('sample_url = "file"' if "file" in given_in else "")

    settings = read(
        flags={"sample_url": "command line" if "command line" in given_in else None},
        environ={"SHOAL_SAMPLE_URL": "environment"} if "environment" in given_in else {},
        file=file,
        found={"sample_url": "data directory"} if "data directory" in given_in else {},
    )

    assert settings[Sample].sample_url == {"default": "http://default"}.get(winner, winner)
    shown = {"environment": "SHOAL_SAMPLE_URL", "file": "given.toml"}
    assert source_of(settings, "sample_url") == shown.get(winner, winner)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("sample_size", "42", 42),
        ("sample_wait_s", "1.5", 1.5),
        ("sample_wait_s", "2", 2.0),
        ("sample_on", "true", True),
        ("sample_on", "1", True),
        ("sample_on", "false", False),
        ("sample_on", "0", False),
        ("sample_level", "high", "high"),
        ("sample_folder", "some/where", Path("some/where")),
        ("sample_names", "a, b,,c ", ("a", "b", "c")),
        ("sample_names", "", ()),
        ("sample_numbers", "1,2", (1, 2)),
        ("sample_limit", "7", 7),
        ("sample_url", "007", "007"),
    ],
)
def test_a_text_becomes_what_the_setting_is(name: str, text: str, value: object) -> None:
    by_environment = read(environ={f"SHOAL_{name.upper()}": text})
    by_flag = read(flags={name: text})
    for settings in (by_environment, by_flag):
        found = getattr(settings[Sample], name)
        assert (type(found), found) == (type(value), value)


def test_a_file_speaks_in_its_own_types(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text(
        'sample_size = 3\nsample_on = true\nsample_wait_s = 1\nsample_folder = "x"\n'
        'sample_names = ["a", "b, c"]\nsample_numbers = [1]\n'
    )
    assert read(file=file)[Sample] == Sample(
        sample_size=3,
        sample_on=True,
        sample_wait_s=1.0,
        sample_folder=Path("x"),
        sample_names=("a", "b, c"),
        sample_numbers=(1,),
    )


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(environ={"SHOAL_SAMPLE_FOLDER": "~/x"})[Sample].sample_folder == tmp_path / "x"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sample_size", "many"),
        ("sample_size", "0"),
        ("sample_size", "1.5"),
        ("sample_size", ""),
        ("sample_wait_s", "soon"),
        ("sample_on", "perhaps"),
        ("sample_level", "LOW"),
        ("sample_numbers", "1,x"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_name_and_source(name: str, text: str) -> None:
    error = refusal(environ={f"SHOAL_{name.upper()}": text})
    assert error.code == "invalid_setting"
    assert name in error.message
    assert f"SHOAL_{name.upper()}" in error.message
    assert repr(text) in error.message or text in error.message


def test_the_description_is_the_advice() -> None:
    assert refusal(flags={"sample_size": "many"}).hint == "How many."


@pytest.mark.parametrize("where", ["flags", "environ", "file", "found"])
def test_an_unknown_name_is_refused_with_the_one_that_was_meant(where: str, tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text("sample_sise = 3")
    given_: dict[str, Any] = {
        "flags": {"sample_sise": 3},
        "environ": {"SHOAL_SAMPLE_SISE": "3"},
        "file": file,
        "found": {"sample_sise": 3},
    }
    error = refusal(**{where: given_[where]})
    assert error.code == "unknown_setting"
    assert "sample_sise" in str(error).lower()
    assert "sample_size" in str(error).lower()


def test_an_unknown_name_that_is_near_nothing_is_refused_all_the_same() -> None:
    assert refusal(environ={"SHOAL_XYZZY": "1"}).code == "unknown_setting"


def test_variables_of_others_are_left_alone() -> None:
    assert read(environ={"PATH": "x", "SAMPLE_SIZE": "3", "XSHOAL_SAMPLE_SIZE": "3"})[Sample] == Sample()


@given(st.text(min_size=4).filter(lambda text: not text.isspace()))
def test_a_secret_is_shown_nowhere(key: str) -> None:
    settings = read(flags={"sample_key": key, "sample_pin": 987_654})
    assert settings[Sample].sample_key == key
    shown = {row.name: row.shown for row in settings.rows}
    assert set(shown["sample_key"]) == set(shown["sample_pin"]) == {"*"}
    assert shown["sample_key"] == shown["sample_pin"]  # its length is not told either
    for row in settings.rows:
        if row.secret:
            assert "987654" not in repr(row)
            assert repr(key) not in repr(row)


def test_a_secret_that_was_not_given_is_shown_as_empty() -> None:
    assert {row.name: row.shown for row in read().rows}["sample_key"] == ""


@pytest.mark.parametrize(
    "given_",
    [
        {"environ": {"SHOAL_SAMPLE_PIN": PASSWORD}},
        {"flags": {"sample_pin": PASSWORD}},
        {"flags": {"sample_key": [PASSWORD]}},
        {"found": {"sample_key": {"x": PASSWORD}}},
        {"environ": {"SHOAL_SAMPLE_KEYS": PASSWORD}},
        {"flags": {"sample_kye": PASSWORD}},
    ],
)
def test_a_refused_secret_is_not_shown(given_: dict[str, Any]) -> None:
    error = refusal(**given_)
    assert PASSWORD not in str(error)
    assert PASSWORD not in repr(error.args)


def test_a_secret_in_a_broken_file_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    for text in (f"sample_key = {PASSWORD}", f'sample_key = "{PASSWORD}', f'"{PASSWORD}"', f"{PASSWORD}\\q"):
        file.write_text(text)
        error = refusal(file=file)
        assert error.code == "settings_file_malformed"
        assert str(file) in error.message
        assert PASSWORD not in str(error)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    for given_ in ({"file": tmp_path / "no.toml"}, {"environ": {"SHOAL_CONFIG": str(tmp_path / "no.toml")}}):
        error = refusal(**given_)
        assert error.code == "settings_file_unreadable"
        assert "no.toml" in error.message
        assert "SHOAL_CONFIG" in error.hint


@pytest.mark.parametrize("content", [b"sample_size", b"sample_size = 1\nsample_size = 2", b"\xff\xfe", b"[x"])
def test_a_file_that_is_not_toml_is_said_so(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "given.toml"
    file.write_bytes(content)
    error = refusal(file=file)
    assert error.code == "settings_file_malformed"
    assert error.hint


def test_a_folder_is_no_settings_file(tmp_path: Path) -> None:
    assert refusal(file=tmp_path).code == "settings_file_unreadable"


def test_the_file_in_the_working_directory_is_read_unless_another_is_named(tmp_path: Path) -> None:
    Path("shoal.toml").write_text("sample_size = 3")
    other = tmp_path / "other.toml"
    other.write_text("sample_size = 4")
    third = tmp_path / "third.toml"
    third.write_text("sample_size = 5")

    assert read()[Sample].sample_size == 3
    assert read(environ={"SHOAL_CONFIG": str(other)})[Sample].sample_size == 4
    assert read(file=third, environ={"SHOAL_CONFIG": str(other)})[Sample].sample_size == 5


def test_a_table_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text("[sample]\nsize = 3")
    assert refusal(file=file).code == "unknown_setting"


def test_every_setting_has_a_row_with_what_it_is_and_was() -> None:
    rows = {row.name: row for row in read(flags={"sample_size": "3"}).rows}
    assert set(rows) == {field.name for kind in (Sample, Other) for field in msgspec.structs.fields(kind)}
    size = rows["sample_size"]
    assert (size.value, size.default, size.source, size.description) == (3, 10, "command line", "How many.")
    assert not size.secret
    assert size.shown == "3"
    assert rows["sample_limit"].shown == ""
