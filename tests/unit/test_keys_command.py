"""What is a key and what is none; what was typed is never repeated."""

import pytest

from wellspring_cli.commands.keys import LONGEST, checked
from wellspring_cli.errors import WrongUse

CANARY = "canary-5e0d"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        pytest.param("AAAA%2Bbb_-=/+", "AAAA%2Bbb_-=/+", id="typed"),
        pytest.param(b"key\n", "key", id="piped, with the end of the line"),
        pytest.param(b"  key\r\n\n", "key", id="with white space around it"),
        pytest.param("\ufeffkey\r\n".encode(), "key", id="from a file of Windows"),
        pytest.param("k" * LONGEST, "k" * LONGEST, id="as long as can be"),
    ],
)
def test_a_key_is_taken_without_what_is_around_it(given, key):
    assert checked(given) == key


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param("", "is empty", id="nothing"),
        pytest.param(b" \n \n", "is empty", id="white space"),
        pytest.param(f"{CANARY}\nsecond".encode(), "more than one line", id="two lines"),
        pytest.param(f"Bearer {CANARY}", "goes without 'Bearer'", id="a whole header"),
        pytest.param(f"{CANARY}\t1", "spaces", id="a tab"),
        pytest.param(CANARY * 400, "over 4 KB", id="too long"),
        pytest.param(f"{CANARY}ü".encode(), "no key has", id="not ASCII"),
        pytest.param(CANARY.encode() + b"\xff", "no key has", id="not text"),
        pytest.param(CANARY.encode() + b"\0", "no key has", id="a zero byte"),
        pytest.param(f"{CANARY}\x1b[2J", "no key has", id="an escape"),
    ],
)
def test_what_is_no_key_is_told_without_repeating_it(given, told):
    with pytest.raises(WrongUse, match=told) as refused:
        checked(given)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["me", CANARY], id="behind the owner"),
        pytest.param(["me", "--key", CANARY], id="as an option"),
        pytest.param(["me", f"--key={CANARY}"], id="as an option with its value"),
        pytest.param(["me", f"--{CANARY}"], id="that begins like an option"),
        pytest.param(["me", f"-{CANARY}"], id="that begins like a short option"),
        pytest.param(["me", "--", CANARY], id="behind two dashes"),
        pytest.param(["--key", CANARY, "me"], id="before the owner"),
        pytest.param([f"--key={CANARY}"], id="without an owner"),
        pytest.param([f"{CANARY}%3D"], id="instead of an owner"),
        pytest.param(["me", CANARY, CANARY], id="twice"),
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(typed, arguments):
    told = typed("keys", "set", *arguments)
    assert told.code == 2
    assert CANARY not in told.out + told.err
    assert len(told.err.splitlines()) == 1


def test_a_key_on_the_command_line_is_told_how_to_give_it(typed):
    told = typed("keys", "set", "me", CANARY)
    assert "`wellspring keys set OWNER`" in told.err and "pipe" in told.err


@pytest.mark.parametrize("what", ["set", "remove"])
@pytest.mark.parametrize("owner", ["a b", "a/b", "", "ü", "o" * 201])
def test_an_owner_that_cannot_be_is_told(typed, what, owner):
    told = typed("keys", what, owner, stdin=CANARY.encode())
    assert (told.code, told.out) == (2, "")
    assert "letters, digits and . _ -" in told.err
