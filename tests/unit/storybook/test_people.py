"""What the job accepts, and what it refuses with a reason."""

from typing import Any

import msgspec
import pytest

from examples.storybook.app import nuclear_v2
from examples.storybook.people import NuclearParams
from shoal.runtime.errors import Invalid

from .samples import couple


def test_the_example_is_accepted() -> None:
    params = msgspec.convert(couple(), NuclearParams)
    assert params.person1.name == "Zoë Ångström"
    assert params.systems == ("vedic", "western", "human_design")
    assert params.chapters == 16


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"systems": ["tea leaves"]}, "systems"),
        ({"systems": []}, "length >= 1"),
        ({"systems": ["western", "western"]}, "named once"),
        ({"chapters": 17}, "<= 16"),
        ({"chapters": 0}, ">= 1"),
        ({"person3": "a crowd"}, "person3"),
        ({"person1": {"name": ""}}, "person1.name"),
        ({"person1": {"name": "   "}}, "person1.name"),
        ({"person1": {"name": "Ada\n"}}, "person1.name"),
        ({"person1": {"name": "A\x00da"}}, "person1.name"),
        ({"person1": {"name": "x" * 81}}, "length <= 80"),
        ({"person2": {"place": "x" * 121}}, "length <= 120"),
        ({"person2": {"born": "1986-11-09T23:15:00"}}, "timezone"),
        ({"person2": {"born": "0999-01-01T00:00:00Z"}}, "between the years"),
        ({"person2": {"shoe_size": 43}}, "shoe_size"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(changed: dict[str, Any], reason: str) -> None:
    params = couple()
    for name, value in changed.items():
        params[name] = {**params[name], **value} if isinstance(value, dict) else value
    with pytest.raises(Invalid, match=reason) as refused:
        nuclear_v2.plan(params)
    assert refused.value.code == "invalid_params"


def test_the_parameters_have_a_schema() -> None:
    schema = nuclear_v2.params_schema
    assert {"person1", "person2", "systems", "chapters"} <= schema["$defs"]["NuclearParams"][
        "properties"
    ].keys()
