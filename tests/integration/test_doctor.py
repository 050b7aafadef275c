"""What `wellspring doctor` says when there is no stack to examine: it goes as far as it can."""

from datetime import timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from wellspring import timestamps

NOWHERE = "http://127.0.0.1:1"


def examined(told):
    return [(check["name"], check["ok"]) for check in told.data["checks"]]


def text_of(told, name):
    (text,) = (check["text"] for check in told.data["checks"] if check["name"] == name)
    return text


def test_without_a_region_nothing_can_be_asked(typed):
    told = typed("doctor", "--json")
    assert (told.code, told.err) == (4, "")
    assert examined(told) == [("target", False)]
    assert "wellspring local up" in text_of(told, "target")


def test_a_profile_that_is_not_there_is_the_first_thing_to_mend(typed):
    told = typed("doctor", "--profile", "wrok")
    assert told.code == 4
    assert told.out.splitlines()[0] == "FAIL  target        There is no AWS profile 'wrok'."
    assert told.out.splitlines()[1] == "1 check failed; the rest could not be checked."


def test_without_credentials_it_is_said_how_to_get_them(typed):
    told = typed("doctor", "--region", "eu-west-1", "--json")
    assert told.code == 4
    assert examined(told) == [("target", True), ("credentials", False)]
    assert text_of(told, "target") == "AWS, eu-west-1 (--region says so)"
    assert "Sign in to AWS" in text_of(told, "credentials")


def test_an_endpoint_that_does_not_answer_is_named(typed, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOWHERE)
    told = typed("doctor", "--json")
    assert told.code == 4
    assert examined(told) == [("target", True), ("credentials", False), ("stack", False)]
    assert text_of(told, "target") == f"{NOWHERE}, us-east-1 (AWS_ENDPOINT_URL says so)"
    assert f"{NOWHERE} cannot be reached" in text_of(told, "credentials").replace(f"{NOWHERE}/", NOWHERE)


def test_a_region_that_cannot_be_is_told(typed, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    told = typed("doctor", "--region", "not a region", "--json")
    assert told.code == 4
    assert examined(told) == [("target", False)]
    assert text_of(told, "target") == "'not a region' is no AWS region; one is written like eu-west-1."


@pytest.mark.parametrize("garbage", ["garbage", "http://", "http://[::1", "ftp://aws.example"])
def test_an_endpoint_that_cannot_be_is_told(typed, garbage):
    told = typed("doctor", "--endpoint-url", garbage, "--json")
    assert (told.code, examined(told)) == (4, [("target", False)])
    assert "is no address of AWS" in text_of(told, "target")
    said = typed("status", "--endpoint-url", garbage)
    assert (said.code, said.out) == (2, "")


class Refusing(BaseHTTPRequestHandler):
    """An AWS with a clock of its own that knows nobody's key."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response_only(403)
        self.send_header("Date", format_datetime(timestamps.now() + self.server.ahead, usegmt=True))
        self.end_headers()
        error = f"<Error><Code>{self.server.code}</Code><Message>No.</Message></Error>"
        self.wfile.write(f"<ErrorResponse>{error}</ErrorResponse>".encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def refusing():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.ahead = timedelta(0)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def asked(typed, server):
    return typed("doctor", "--json", "--endpoint-url", f"http://127.0.0.1:{server.server_port}")


def test_keys_that_nobody_knows_are_told_and_the_clock_is_checked_all_the_same(typed, refusing):
    refusing.code = "InvalidClientTokenId"
    told = asked(typed, refusing)
    assert told.code == 4
    assert examined(told) == [("target", True), ("credentials", False), ("clock", True), ("stack", False)]
    assert "InvalidClientTokenId" in text_of(told, "credentials")


def test_a_wrong_clock_is_told_when_it_is_the_cause(typed, refusing):
    refusing.code, refusing.ahead = "SignatureDoesNotMatch", timedelta(minutes=20)
    told = asked(typed, refusing)
    assert ("clock", False) in examined(told)
    assert "20 min behind" in text_of(told, "clock")


def test_a_right_that_is_missing_does_not_end_it(typed, refusing):
    refusing.code = "AccessDenied"
    told = asked(typed, refusing)
    assert examined(told)[-1] == ("stack", False)
    assert "Looking for the stack wellspring failed: AccessDenied" in text_of(told, "stack")
    assert told.code == 4, "nothing could be asked"
