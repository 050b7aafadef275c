"""Parsing at arm's length: what runs wild is ended, the others go on."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from builders import rss
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.sandbox import MEMORY_BYTES, Sandbox
from wellspring.sources import KINDS


def a_reply(body):
    headers = {"content-type": "application/rss+xml", "set-cookie": "secret"}
    return Reply(url="https://example.org/feed", status=200, headers=headers, body=body)


# One regular expression of feedparser is quadratic here, and holds every thread of its process.
WILD = b'<rss version="2.0"><channel><item><author>' + b"a" * 100_000 + b"</author></item></channel></rss>"
RHYTHM = b"<ttl>90</ttl><skipHours><hour>3</hour></skipHours>"


@pytest.fixture
def sandbox():
    made = Sandbox(timedelta(seconds=5))
    yield made
    made.close()


def test_it_finds_what_the_parser_finds(sandbox):
    body = rss(1, 2).replace(b"<title>A feed", RHYTHM + b"<title>A feed")
    assert sandbox.parse("rss", a_reply(body)) == KINDS["rss"].parse(a_reply(body))


def test_what_the_parser_refuses_is_refused_alike(sandbox):
    with pytest.raises(FetchError, match="not a feed") as caught:
        sandbox.parse("rss", a_reply(b"<html>"))
    assert (caught.value.error_class, caught.value.http_status) == (ErrorClass.NOT_FEED, 200)


def test_one_that_runs_wild_is_ended_and_the_others_are_parsed():
    sandbox = Sandbox(timedelta(seconds=0.5))
    try:
        sandbox.parse("rss", a_reply(rss(1)))
        with ThreadPoolExecutor(4) as pool:
            bodies = [rss(1), WILD, rss(2), rss(3)]
            runs = [pool.submit(sandbox.parse, "rss", a_reply(body)) for body in bodies]
            errors = [run.exception() for run in runs]
        assert [error and error.error_class for error in errors] == [
            None,
            ErrorClass.PARSE_TIMEOUT,
            None,
            None,
        ]
    finally:
        sandbox.close()


def test_a_process_that_died_is_replaced(sandbox):
    sandbox.parse("rss", a_reply(rss(1)))
    sandbox._process.kill()
    sandbox._process.wait()
    assert len(sandbox.parse("rss", a_reply(rss(1, 2))).entries) == 2


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux shows a process's limits")
def test_the_process_may_not_take_the_functions_memory(sandbox):
    sandbox.parse("rss", a_reply(rss(1)))
    limits = Path(f"/proc/{sandbox._process.pid}/limits").read_text()
    assert re.search(rf"Max address space\s+{MEMORY_BYTES}\s", limits)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux shows a process's environment")
def test_the_process_knows_no_secrets(sandbox, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    sandbox.parse("rss", a_reply(rss(1)))
    assert "secret" not in Path(f"/proc/{sandbox._process.pid}/environ").read_text()
