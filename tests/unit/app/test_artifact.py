"""Which artifacts a task may keep."""

import pytest

from shoal.app.artifact import MOST_OF_A_TASK, Artifact, check_artifact
from shoal.runtime.errors import Invalid, TooLarge

SONG = Artifact("song.mp3", b"", "audio_mp3", duration_seconds=2.5)


def test_a_fallback_is_of_the_kind_of_what_it_stands_in_for() -> None:
    fallback = Artifact("song.m4a", b"", "audio_m4a", fallback_for="song.mp3")
    check_artifact(fallback, [SONG])
    assert (SONG.kind, fallback.kind) == ("audio", "audio")


@pytest.mark.parametrize(
    ("artifact", "said"),
    [
        (Artifact("", b"", "text"), "a name of 0 characters"),
        (Artifact("x" * 256, b"", "text"), "a name of 256 characters"),
        (Artifact("a", b"", ""), "has the type ''"),
        (Artifact("a", b"", "audio/mp3"), "has the type 'audio/mp3'"),
        (Artifact("a", b"", "_mp3"), "has the type '_mp3'"),
        (Artifact("a", b"", "x" * 128), "has the type 'xxx"),
        (Artifact("a", b"", "audio", duration_seconds=-1), "a duration of -1 seconds"),
        (Artifact("a", b"", "audio", duration_seconds=float("nan")), "a duration of nan seconds"),
        (Artifact("a", b"", "audio", duration_seconds=float("inf")), "a duration of inf seconds"),
        (Artifact("song.mp3", b"", "audio_wav"), "is there already"),
        (Artifact("song.m4a", b"", "audio", fallback_for="sung.mp3"), "is a fallback for 'sung.mp3'"),
    ],
)
def test_what_could_not_be_kept_is_refused_while_the_task_runs(artifact: Artifact, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_artifact(artifact, [SONG])
    assert caught.value.code == "invalid_artifact"
    assert said in caught.value.message


def test_a_fallback_of_a_fallback_is_refused() -> None:
    fallback = Artifact("song.m4a", b"", "audio_m4a", fallback_for="song.mp3")
    with pytest.raises(Invalid):
        check_artifact(Artifact("song.ogg", b"", "audio_ogg", fallback_for="song.m4a"), [SONG, fallback])


def test_the_same_name_may_be_of_two_kinds() -> None:
    check_artifact(Artifact("song.mp3", b"", "text"), [SONG])


def test_the_number_of_artifacts_has_an_end() -> None:
    many = [Artifact(str(number), b"", "text") for number in range(MOST_OF_A_TASK)]
    check_artifact(Artifact("last", b"", "text"), many[:-1])
    with pytest.raises(TooLarge):
        check_artifact(Artifact("one more", b"", "text"), many)
