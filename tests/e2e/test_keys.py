"""Owners' keys on the deployed stack: set by the command, used by a fetcher, and shown by nothing."""

import os
import pty
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from deployed import now

WELLSPRING = Path(sys.executable).with_name("wellspring")
KEY = "canary-cmd-83e1%3Dkey"
WRONG = "canary-cmd-0f4c%3Dwrong"


def owners(operator):
    return [key["owner_id"] for key in operator.well("keys", "list", "--json").data["keys"]]


def test_a_timeline_is_read_with_the_key_that_was_set_until_it_is_a_wrong_one(deployed, operator, x):
    x.keys.add(KEY)
    person = x.add_user("cmd_person")
    for number in range(3):
        x.publish(person, f"Post {number}", now() - timedelta(minutes=5 - number))
    said = []

    def type_(*arguments, code=0, **given):
        told = operator(*arguments, **given)
        said.append(told.out + told.err)
        assert told.code == code, said[-1]
        return told

    told = type_("keys", "set", "cmd-owner", stdin=KEY.encode() + b"\n")
    assert "Set the key of cmd-owner, in the local cloud" in told.out
    timeline = ("--id", "cmd-timeline", "--owner", "cmd-owner", "--every", "1h", "--backfill")
    type_("sources", "add", f"https://x.com/{person.username}", *timeline)
    assert "ok" in type_("fetch", "cmd-timeline", "--wait").out
    assert {post["title"] for post in deployed.posts("cmd-timeline")} == {
        f"Post {number}" for number in range(3)
    }

    assert "Replaced the key" in type_("keys", "set", "cmd-owner", stdin=WRONG.encode()).out
    refused = type_("fetch", "cmd-timeline", "--wait", code=1)
    assert "authentication" in refused.out

    assert "cmd-owner" in type_("keys", "list").out
    for arguments in (
        ("keys", "list", "--json"),
        ("sources", "list"),
        ("sources", "list", "--json"),
        ("sources", "show", "cmd-timeline"),
        ("sources", "show", "cmd-timeline", "--json"),
        ("explain", "cmd-timeline"),
        ("explain", "cmd-timeline", "--json"),
        ("logs", "cmd-timeline"),
        ("logs", "cmd-timeline", "--json"),
        ("dead-letters", "list"),
        ("local", "logs"),
        ("local", "logs", "--json"),
        ("local", "status"),
        ("posts", "list", "--json"),
    ):
        type_(*arguments)
    for arguments in (("doctor",), ("doctor", "--json"), ("status",), ("status", "--json")):
        told = operator(*arguments)
        assert told.code != 2, "it was run"
        said.append(told.out + told.err)
    assert "canary" not in "".join(said)

    assert "Removed the key" in type_("keys", "remove", "cmd-owner", answers="y\n").out
    assert "cmd-owner" not in owners(operator)
    assert type_("keys", "remove", "cmd-owner", code=3).err.startswith("cmd-owner has no key")
    keyless = type_("fetch", "cmd-timeline", "--wait", code=1)
    assert "authentication" in keyless.out
    operator.well("sources", "remove", "cmd-timeline", "--with-posts", "--yes")
    x.forget()


def test_a_key_is_removed_only_after_a_yes(operator):
    operator.well("keys", "set", "kept", stdin=b"abc")
    unanswered = operator("keys", "remove", "kept")
    assert unanswered.code == 2 and "say --yes" in unanswered.err
    assert operator("keys", "remove", "kept", answers="n\n").code == 1
    assert "kept" in owners(operator)
    operator.well("keys", "remove", "kept", "--yes")
    assert "kept" not in owners(operator)


def test_what_is_no_key_sets_nothing(operator):
    told = operator("keys", "set", "empty", stdin=b"\n")
    assert (told.code, told.err) == (2, "The key is empty. Nothing was set.\n")
    assert "empty" not in owners(operator)


def test_on_a_terminal_the_key_is_asked_for_and_not_shown(deployed, operator, state_dir):
    ours, theirs = pty.openpty()
    command = [WELLSPRING, "keys", "set", "typed", "--state-dir", str(state_dir)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = read_until(ours, "not shown): ")
    os.write(ours, f"{KEY}\n".encode())
    shown += read_until(ours, "Set the key of typed")
    assert process.wait(30) == 0
    os.close(ours)
    assert KEY not in shown
    stored = deployed.stack.client("ssm").get_parameter(
        Name="/wellspring/owners/typed/x-api-key", WithDecryption=True
    )
    assert stored["Parameter"]["Value"] == KEY
    operator.well("keys", "remove", "typed", "--yes")


def read_until(terminal, text):
    """Return what a terminal shows up to some text; what does not come fails with an error of the read."""
    shown = ""
    while text not in shown:
        shown += os.read(terminal, 1_000).decode()
    return shown
