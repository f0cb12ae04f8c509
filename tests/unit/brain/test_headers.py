"""A script's header is its interface; a file that breaks it is refused when it is loaded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.brain.headers import Names, read_header
from shoal.runtime.errors import Invalid

HEADER = {
    "add": "add `amount` to the counter",
    "keys": "counter",
    "args": "amount, ttl",
    "returns": "the new count",
    "touches": "counter",
}
CODE = """\
local counter = KEYS[1]
redis.call('PEXPIRE', counter, ARGV[2])
return redis.call('INCRBY', counter, ARGV[1])
"""


def source(code: str = CODE, **changes: str | None) -> str:
    fields = {**HEADER, **changes}
    lines = [f"-- {field}: {text}" for field, text in fields.items() if text is not None]
    return "\n".join(lines) + "\n" + code


def test_a_header_is_read_by_its_fields() -> None:
    header = read_header("add", source(add="add `amount`\n--   to the counter\n--   of the node"))
    assert header.summary == "add `amount` to the counter of the node"
    assert header.keys == Names(("counter",))
    assert header.args == Names(("amount", "ttl"))
    assert header.returns == "the new count"
    assert header.touches == ("counter",)


def test_a_last_name_with_dots_stands_for_all_the_rest() -> None:
    header = read_header("add", source("return {KEYS[1], ARGV[1], unpack(ARGV, 2)}", args="amount, ids..."))
    assert header.args == Names(("amount",), "ids")


def test_a_script_may_have_no_keys_and_no_arguments() -> None:
    header = read_header("add", source("return 1", keys="none", args="none", touches="none"))
    assert header.keys == header.args == Names(())


@pytest.mark.parametrize("field", list(HEADER))
def test_every_line_of_the_header_is_required(field: str) -> None:
    for text in (None, ""):
        with pytest.raises(Invalid, match=rf"add\.lua .* no line '-- {field}: …'"):
            read_header("add", source(CODE, **{field: text}))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (CODE, "no line '-- add: …'"),
        ("\n" + source(), "no line '-- add: …'"),
        (source().replace("-- add:", "-- sum:"), "no line '-- add: …'"),
        (source(locks="none"), "unknown line 'locks:'"),
        (source().replace("-- args:", "-- keys:"), "says 'keys:' twice"),
        (source(add="add\n-- and more"), "'and more' is no '-- field: …'"),
        ("--    indented\n" + source(), "opens with an indented line"),
        (source(args="amount, amount"), "a name stands twice in 'args:'"),
        (source(args="amount,"), "'' in 'args:' is not a name"),
        (source(args="Amount, ttl"), "'Amount' in 'args:' is not a name"),
        (source(args="amount..., ttl"), "'amount...' in 'args:' is not a name"),
        (source(args="..."), "'' in 'args:' is not a name"),
        (source(args="none, ttl", code="return {KEYS[1], ARGV[1]}"), r"'ttl' is declared"),
        (source(touches="other"), "touches 'other', which is not among its keys"),
        (source(args="amount"), r"uses ARGV\[2\], which its header does not declare"),
        (source(keys="none", touches="none"), r"uses KEYS\[1\], which its header does not"),
        (source(CODE + "return ARGV[0]"), r"uses ARGV\[0\], which its header does not declare"),
        (source(args="amount, ttl, owner"), r"'owner' is declared but ARGV\[3\] is never used"),
        (source(keys="counter, other"), r"'other' is declared but KEYS\[2\] is never used"),
        (source(args="amount, ttl, ids..."), r"'ids\.\.\.' is declared but never used"),
        (source(CODE + "return #KEYS"), r"uses KEYS other than as KEYS\[number\]"),
        (source(CODE + "return unpack(ARGV)"), r"uses ARGV other than as ARGV\[number\]"),
        (source(CODE + "return ARGV[i]"), r"uses ARGV other than as ARGV\[number\]"),
        (source("return {KEYS[1], ARGV[1]} -- ARGV[2]"), r"ARGV\[2\] is never used"),
        (source("return {KEYS[1], ARGV[1]} --[[ ARGV[2] ]]"), r"ARGV\[2\] is never used"),
        (source("return {KEYS[1], ARGV[1], 'ARGV[2]'}"), r"ARGV\[2\] is never used"),
        (source('return {KEYS[1], ARGV[1], "\\"ARGV[2]"}'), r"ARGV\[2\] is never used"),
        (source("return {KEYS[1], ARGV[1], [==[ ARGV[2] ]] ]==]}"), r"ARGV\[2\] is never used"),
    ],
)
def test_a_broken_header_is_refused_with_the_file_and_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(Invalid, match=complaint) as refusal:
        read_header("add", text)
    assert refusal.value.code == "invalid_script"
    assert "add.lua" in refusal.value.message


def test_what_stands_in_strings_and_comments_is_not_code() -> None:
    noise = "\n--[==[ KEYS[9] ]] ]==]\nlocal s = 'it''s ARGV[9]' -- #ARGV\nlocal t = [[ KEYS ]]\n"
    read_header("add", source(noise + CODE))


@given(
    declared=st.integers(0, 6),
    used=st.sets(st.integers(1, 8)),
    tail=st.booleans(),
    loop=st.booleans(),
)
def test_code_passes_exactly_when_it_uses_what_is_declared(
    declared: int, used: set[int], *, tail: bool, loop: bool
) -> None:
    names = [f"a{index}" for index in range(1, declared + 1)] + (["rest..."] if tail else [])
    code = "local k = KEYS[1]\n" + "".join(f"f(ARGV[ {position} ])\n" for position in sorted(used))
    code += "f(#ARGV)\n" if loop else ""
    fixed = set(range(1, declared + 1))
    reaches_tail = loop or bool(used - fixed)
    sound = fixed <= used and reaches_tail == tail
    text = source(code, args=", ".join(names) or "none")
    if sound:
        assert len(read_header("add", text).args.all) == len(names)
    else:
        with pytest.raises(Invalid):
            read_header("add", text)
