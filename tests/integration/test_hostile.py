"""The HTTP client and the parser against servers that mean harm: each is named, in time and in bounds."""

import gc
import gzip
import socket
import threading
import time
import tracemalloc
import warnings
import zlib
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address

import brotli
import pytest

from builders import a_source, rss
from hostile import FOR_EVER, RESET, Hostile, drips, endless, says
from wellspring import memory, poll, settings, timestamps
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import HttpClient, Request
from wellspring.sandbox import Sandbox
from wellspring.settings import Settings

# Short, so that many servers can be slow in one run; each case runs into the same code as with 20 s.
DEADLINE = 1.0
GRACE = 1.0
PARSE_SECONDS = 3.0
START_SECONDS = 5.0
"""What a new parser may take to start, after one that was ended."""
MOST_MEMORY = 16_000_000
LIMIT = 1_000_000
LOCAL = replace(
    Settings(),
    allow_addresses=settings.networks("127.0.0.0/8"),
    fetch_timeout=timedelta(seconds=DEADLINE),
    connect_timeout=timedelta(seconds=DEADLINE / 2),
    max_bytes=LIMIT,
)
CLIENT = HttpClient(LOCAL)

OK = b"HTTP/1.1 200 OK\r\n"
HEAD = OK + b"Content-Type: text/xml\r\n"
PLAIN = HEAD + b"\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
BOMB = gzip.compress(bytes(64_000_000), 6)
DEFLATE_BOMB = zlib.compress(bytes(64_000_000), 6)
BROTLI_BOMB = brotli.compress(bytes(64_000_000), quality=5)
BLOCK = bytes(65_536)


def packed(body, encoding, status=b"200 OK", extra=b""):
    """Return a whole answer whose body is already packed."""
    head = b"HTTP/1.1 %b\r\nContent-Encoding: %b\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, encoding, len(body), extra) + body


def redirect(location, status=302):
    return b"HTTP/1.1 %d Go\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % (status, location)


def status(line):
    return says(b"HTTP/1.1 " + line + b"\r\nContent-Length: 2\r\n\r\nhi")


def length(*values, body=b"0123456789"):
    fields = b"".join(b"Content-Length: " + value + b"\r\n" for value in values)
    return says(HEAD + fields + b"\r\n" + body)


def bare_deflate(data):
    made = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return made.compress(data) + made.flush()


@contextmanager
def in_bounds(seconds=DEADLINE + GRACE, memory=MOST_MEMORY):
    """Assert that what is done inside ends in time and takes no more memory than a fetch may."""
    tracemalloc.start()
    began = time.monotonic()
    try:
        yield
    finally:
        took, (_, peak) = time.monotonic() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert took < seconds, f"it took {took:.2f} s"
    assert peak < memory, f"it took {peak:,} bytes"


@pytest.fixture
def server():
    with Hostile() as running:
        yield running


def failure(url, client=CLIENT, **fields):
    with in_bounds(), pytest.raises(FetchError) as caught:
        client.get(Request(url=url, **fields))
    return caught.value


TIMEOUT, TOO_LARGE, REDIRECTS = ErrorClass.TIMEOUT, ErrorClass.TOO_LARGE, ErrorClass.REDIRECTS
BAD_HTTP, TRUNCATED, BLOCKED_URL = ErrorClass.BAD_HTTP, ErrorClass.TRUNCATED, ErrorClass.BLOCKED_URL

SLOW = {
    "headers come byte by byte for ever": (drips(HEAD, pause=0.02, for_ever=b"X"), TIMEOUT),
    "a header comes, and a header, and a header": (drips(b"", first=OK, for_ever=b"X: y\r\n"), TIMEOUT),
    "the status line comes byte by byte": (drips(b"HTTP/1.1 200 ", for_ever=b"O"), TIMEOUT),
    "no answer at all": (says(FOR_EVER), TIMEOUT),
    "a head and then nothing": (says(PLAIN, FOR_EVER), TIMEOUT),
    "half a head and then nothing": (says(HEAD, FOR_EVER), TIMEOUT),
    "a body of known length comes byte by byte": (
        drips(b"", first=HEAD + b"Content-Length: 900000\r\n\r\n", for_ever=b"x"),
        TIMEOUT,
    ),
    "one huge chunk comes byte by byte": (drips(b"", first=CHUNKED + b"fffff\r\n", for_ever=b"x"), TIMEOUT),
    "one tiny chunk after the other": (drips(b"", first=CHUNKED, for_ever=b"1\r\nx\r\n"), TIMEOUT),
    "a chunk's size comes byte by byte": (drips(b"", first=CHUNKED, for_ever=b"0"), TIMEOUT),
    "trailers after the last chunk for ever": (
        drips(b"", first=CHUNKED + b"2\r\nhi\r\n0\r\n", for_ever=b"X: y\r\n"),
        TIMEOUT,
    ),
    "a gzip body comes byte by byte": (
        drips(BOMB[:10_000], first=HEAD + b"Content-Encoding: gzip\r\n\r\n"),
        TIMEOUT,
    ),
    "a body without an end comes byte by byte": (drips(b"", first=PLAIN, for_ever=b"x"), TIMEOUT),
    "the page behind a 403 comes byte by byte": (
        drips(b"", first=b"HTTP/1.1 403 No\r\n\r\n", for_ever=b"x"),
        ErrorClass.AUTHENTICATION,
    ),
    "every redirect comes a little late": (
        lambda asked: [DEADLINE / 3, redirect(b"/" + b"x" * len(asked.path))],
        TIMEOUT,
    ),
    "empty gzip members for ever": (
        endless(gzip.compress(b"", 1) * 500, first=HEAD + b"Content-Encoding: gzip\r\n\r\n"),
        TIMEOUT,
    ),
    "the greeting of HTTP/2, and it waits": (says(b"\x00\x00\x06\x04" + bytes(11), FOR_EVER), TIMEOUT),
}
HUGE = {
    "an endless body": (endless(BLOCK, first=PLAIN), TOO_LARGE),
    "an endless row of chunks": (endless(b"10000\r\n" + BLOCK + b"\r\n", first=CHUNKED), TOO_LARGE),
    "an endless chunk": (endless(BLOCK, first=CHUNKED + b"fffffffffff\r\n"), TOO_LARGE),
    "a chunk of negative size": (endless(BLOCK, first=CHUNKED + b"-1\r\n"), TOO_LARGE),
    "a body one byte over the limit": (length(b"%d" % (LIMIT + 1), body=b"x" * (LIMIT + 1)), TOO_LARGE),
    "a gzip bomb": (says(packed(BOMB, b"gzip")), TOO_LARGE),
    "a gzip bomb in many members": (says(packed(gzip.compress(BLOCK) * 1_000, b"gzip")), TOO_LARGE),
    "a deflate bomb": (says(packed(DEFLATE_BOMB, b"deflate")), TOO_LARGE),
    "a bare deflate bomb": (says(packed(DEFLATE_BOMB[2:-4], b"deflate")), TOO_LARGE),
    "a brotli bomb": (says(packed(BROTLI_BOMB, b"br")), TOO_LARGE),
    "a gzip bomb in a gzip bomb": (says(packed(gzip.compress(BOMB), b"gzip, gzip")), BAD_HTTP),
    "gzip twice over, in two headers": (
        says(packed(gzip.compress(BOMB), b"gzip", extra=b"Content-Encoding: gzip\r\n")),
        BAD_HTTP,
    ),
    "a gzip bomb on a redirect to nowhere": (
        says(packed(BOMB, b"gzip", b"302 Found", b"Location: ftp://nowhere/\r\n")),
        BLOCKED_URL,
    ),
    "an endless body on every redirect": (
        endless(BLOCK, first=b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n"),
        REDIRECTS,
    ),
    "a gzip bomb behind a 403": (says(packed(BOMB, b"gzip", b"403 No")), ErrorClass.AUTHENTICATION),
    "an endless body behind a 404": (endless(BLOCK, first=b"HTTP/1.1 404 No\r\n\r\n"), ErrorClass.HTTP_4XX),
    "one huge header": (says(HEAD + b"X: " + b"x" * 1_000_000 + b"\r\n\r\nhi"), BAD_HTTP),
    "an endless header": (endless(b"x" * 65_536, first=HEAD + b"X: "), BAD_HTTP),
    "an endless status line": (endless(b"x" * 65_536, first=b"HTTP/1.1 200 "), BAD_HTTP),
    "an endless line that is no HTTP": (endless(b"x" * 65_536), BAD_HTTP),
    "an endless size of a chunk": (endless(b"0" * 65_536, first=CHUNKED), BAD_HTTP),
    "ten thousand headers": (says(HEAD + b"X: y\r\n" * 10_000 + b"\r\nhi"), BAD_HTTP),
    "endless headers": (endless(b"X: y\r\n" * 1_000, first=OK), BAD_HTTP),
    "endless folds of one header": (endless(b" x\r\n" * 1_000, first=HEAD + b"X: y\r\n"), BAD_HTTP),
    "100 Continue for ever": (endless(CONTINUE * 1_000), BAD_HTTP),
}
ROUND = {
    "a redirect to itself": (lambda asked: [redirect(asked.path.encode())], REDIRECTS),
    "a redirect to and fro": (
        lambda asked: [redirect(b"/b" if asked.path == "/" else b"/")],
        REDIRECTS,
    ),
    "a redirect to a fragment of itself": (says(redirect(b"#there")), REDIRECTS),
    "a redirect to an ever longer path": (
        lambda asked: [redirect(asked.path.encode() + b"x")],
        REDIRECTS,
    ),
    "a permanent redirect for ever": (says(redirect(b"?again", 308)), REDIRECTS),
    "a redirect to no host: the same host": (says(redirect(b"http:///feed")), REDIRECTS),
    "a redirect without a place": (says(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), BAD_HTTP),
    "a redirect to an empty place": (says(redirect(b"")), BAD_HTTP),
    "a choice of places": (says(redirect(b"/x", 300)), BAD_HTTP),
    "a redirect to two places": (says(redirect(b"/a\r\nLocation: /b")), BLOCKED_URL),
} | {
    f"a redirect to {location[:30]!r}": (says(redirect(location)), BLOCKED_URL)
    for location in (
        b"file:///etc/passwd",
        b"ftp://127.0.0.1/",
        b"gopher://127.0.0.1:6379/_INFO",
        b"javascript:alert(1)",
        b"data:text/xml,<rss/>",
        b"http://[::1/feed",
        b"http://[nonsense]/",
        b"http://127.0.0.1:port/",
        b"http://127.0.0.1:99999/",
        b"http://127.0.0.1:0/",
        b"http://user:secret@127.0.0.1/",
        b"http://127.0.0.1\\@example.org/",
        b"/a\\b",
        b"/a b",
        b"/a\x00b",
        b"/a\r\n b",
        b"http://%31%32%37.0.0.1/",
        b"/" + b"x" * 9_000,
    )
}
BROKEN = {
    "a length that is too long": (length(b"99"), TRUNCATED),
    "a length of terabytes": (length(b"9" * 13), TRUNCATED),
    "a length that is negative": (length(b"-1"), BAD_HTTP),
    "a length that is no number": (length(b"ten"), BAD_HTTP),
    "two lengths that differ": (length(b"5", b"10"), BAD_HTTP),
    "two lengths in one header that differ": (length(b"5, 10"), BAD_HTTP),
    "a body cut by a reset": (says(HEAD + b"Content-Length: 99\r\n\r\nhi", 0.1, RESET), BAD_HTTP),
    "a chunk that is cut": (says(CHUNKED + b"ff\r\nhello"), TRUNCATED),
    "chunks without a last one": (says(CHUNKED + b"5\r\nhello\r\n"), TRUNCATED),
    "a chunk's size that is cut": (says(CHUNKED + b"5\r\nhello\r\n1"), TRUNCATED),
    "a chunk's size that is no number": (
        says(CHUNKED + b"5\r\nhello\r\nzz\r\nhello\r\n0\r\n\r\n"),
        TRUNCATED,
    ),
    "chunks that are promised and do not come": (says(CHUNKED + b"<rss></rss>"), TRUNCATED),
    "gzip that is cut": (says(packed(gzip.compress(b"hello" * 99)[:-9], b"gzip")), TRUNCATED),
    "gzip without its checksum": (says(packed(gzip.compress(b"hello")[:-8], b"gzip")), TRUNCATED),
    "a second gzip member that is cut": (
        says(packed(gzip.compress(b"hello") + gzip.compress(b"you")[:-9], b"gzip")),
        TRUNCATED,
    ),
    "brotli that is cut": (says(packed(brotli.compress(b"hello" * 99)[:-1], b"br")), TRUNCATED),
    "deflate that is cut": (says(packed(zlib.compress(b"hello" * 99)[:-1], b"deflate")), TRUNCATED),
    "gzip that is spoilt": (
        says(packed(gzip.compress(b"hello" * 99)[:10] + b"\xff" * 20, b"gzip")),
        BAD_HTTP,
    ),
    "gzip whose checksum is wrong": (
        says(packed(gzip.compress(b"hello")[:-8] + bytes(8), b"gzip")),
        BAD_HTTP,
    ),
    "brotli that is spoilt": (says(packed(b"\xff" * 50, b"br")), BAD_HTTP),
    "deflate that is spoilt": (says(packed(b"\xff" * 50, b"deflate")), BAD_HTTP),
    "gzip that is none": (says(packed(b"<rss></rss>", b"gzip")), BAD_HTTP),
    "a packing that nobody knows": (says(packed(b"hello", b"zstd")), BAD_HTTP),
    "a head cut before its empty line": (says(HEAD), BAD_HTTP),
    "a head cut inside a header's value": (says(OK + b"Content-Type: tex"), BAD_HTTP),
    "a head cut inside a header's name": (says(OK + b"Content-Le"), BAD_HTTP),
    "a head cut inside its empty line": (says(HEAD + b"\r"), BAD_HTTP),
    "a head cut after the status line": (says(OK), BAD_HTTP),
    "a status line that is cut": (says(b"HTTP/1.1 200"), BAD_HTTP),
    "a head cut by a reset": (says(HEAD, 0.1, RESET), BAD_HTTP),
    "closed without a word": (says(), BAD_HTTP),
    "reset without a word": (says(RESET), BAD_HTTP),
    "100 Continue and closed": (says(CONTINUE), BAD_HTTP),
    "a body without a head, as HTTP/0.9 had it": (says(rss(1)), BAD_HTTP),
    "an empty line": (says(b"\r\n\r\n"), BAD_HTTP),
    "the greeting of HTTP/2, and closed": (says(b"\x00\x00\x06\x04" + bytes(11)), BAD_HTTP),
    "an answer in HTTP/2's name": (says(b"HTTP/2 200 OK\r\n\r\nhello"), BAD_HTTP),
    "an answer in HTTP/9.9": (says(b"HTTP/9.9 200 OK\r\n\r\nhello"), BAD_HTTP),
    "the greeting of a mail server": (says(b"220 mail ESMTP\r\n", FOR_EVER), BAD_HTTP),
    "the greeting of SSH": (says(b"SSH-2.0-OpenSSH_9.6\r\n", FOR_EVER), BAD_HTTP),
    "a TLS alert": (says(b"\x15\x03\x01\x00\x02\x02\x46"), BAD_HTTP),
    "NULs for a head": (says(bytes(1_000)), BAD_HTTP),
    "a NUL in the status": (says(b"HTTP/1.1 \x00200 OK\r\n\r\nhello"), BAD_HTTP),
    "a NUL in a header's name, hiding the length behind it": (
        says(HEAD + b"X\x00: y\r\nContent-Length: 99\r\n\r\nhello"),
        BAD_HTTP,
    ),
    "a line that is no header, hiding the chunks behind it": (
        says(HEAD + b"nonsense\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        BAD_HTTP,
    ),
    "chunks in a transfer coding that nobody asked for": (
        says(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        BAD_HTTP,
    ),
    "a status of letters": (status(b"abc OK"), BAD_HTTP),
    "a negative status": (status(b"-200 OK"), BAD_HTTP),
    "a status of four digits": (status(b"2000 OK"), BAD_HTTP),
    "status 99": (status(b"99 Low"), BAD_HTTP),
    "status 999": (status(b"999 Denied"), ErrorClass.HTTP_5XX),
    "status 600": (status(b"600 Odd"), ErrorClass.HTTP_5XX),
    "status 451": (status(b"451 Law"), ErrorClass.HTTP_4XX),
    "status 101, another protocol": (status(b"101 Switching Protocols"), BAD_HTTP),
    "status 201": (status(b"201 Created"), BAD_HTTP),
    "status 203, altered on the way": (status(b"203 Altered"), BAD_HTTP),
    "status 204, without a body": (status(b"204 None"), BAD_HTTP),
    "status 205": (status(b"205 Reset"), BAD_HTTP),
    "status 206, a part that nobody asked for": (status(b"206 Part"), BAD_HTTP),
    "status 304 that nobody asked for": (status(b"304 Same"), BAD_HTTP),
}


def table(cases):
    return [pytest.param(*case, id=told) for told, case in cases.items()]


@pytest.mark.parametrize(("script", "error_class"), table(SLOW | HUGE | ROUND | BROKEN))
def test_a_hostile_server_is_named_in_time_and_in_bounds(server, script, error_class):
    server.scripts["*"] = script
    assert failure(server.url("/")).error_class is error_class


GOOD = {
    "a length that is too short: what it says is taken": (length(b"5"), b"01234"),
    "a head in two pieces": (says(HEAD[:30], 0.05, HEAD[30:] + b"\r\nhello"), b"hello"),
    "a body exactly at the limit": (length(b"%d" % LIMIT, body=b"x" * LIMIT), b"x" * LIMIT),
    "100 Continue before the answer": (says(CONTINUE * 3 + PLAIN + b"hello"), b"hello"),
    "103 Early Hints before the answer": (
        says(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + PLAIN + b"hello"),
        b"hello",
    ),
    "line ends without CR": (says(b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"), b"hello"),
    "HTTP/1.0": (says(b"HTTP/1.0 200 OK\r\n\r\nhello"), b"hello"),
    "a status without a reason": (says(b"HTTP/1.1 200\r\n\r\nhello"), b"hello"),
    "NULs in the body": (says(PLAIN + b"a\x00b"), b"a\x00b"),
    "NULs in a header's value": (says(HEAD + b"X: a\x00b\r\n\r\nhello"), b"hello"),
    "bytes beyond ASCII in a header": (says(HEAD + b"X: \xff\xfe\r\n\r\nhello"), b"hello"),
    "two lengths that agree": (length(b"10", b"10"), b"0123456789"),
    "chunks and a length: the chunks count": (
        says(HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        b"hello",
    ),
    "chunks with extensions and trailers": (
        says(CHUNKED + b"5;a=b\r\nhello\r\n0;c\r\nX: y\r\n\r\n"),
        b"hello",
    ),
    "an empty gzip body": (says(packed(gzip.compress(b""), b"gzip")), b""),
    "gzip promised, and no body at all": (says(packed(b"", b"gzip")), b""),
    "rubbish behind the gzip body": (says(packed(gzip.compress(b"hello") + b"\x00" * 9, b"gzip")), b"hello"),
    "gzip in two members": (says(packed(gzip.compress(b"hel") + gzip.compress(b"lo"), b"gzip")), b"hello"),
    "gzip in two members, the second one's head in two pieces": (
        says(
            HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"hel") + gzip.compress(b"lo")[:1],
            0.1,
            gzip.compress(b"lo")[1:],
        ),
        b"hello",
    ),
    "bare deflate that ends where a piece does": (
        says(packed(bare_deflate(b"x" * 66_050), b"deflate")),
        b"x" * 66_050,
    ),
    "deflate, in capitals": (says(packed(zlib.compress(b"hello"), b"DEFLATE")), b"hello"),
}


@pytest.mark.parametrize(("script", "body"), table(GOOD))
def test_what_is_odd_but_whole_comes_whole(server, script, body):
    server.scripts["*"] = script
    with in_bounds():
        reply = CLIENT.get(Request(url=server.url("/")))
    assert (reply.status, reply.body) == (200, body)


def test_a_script_without_an_end_stops_with_its_client_and_with_its_server():
    before = set(threading.enumerate())
    with Hostile() as server:
        server.scripts |= {"/endless": endless(BLOCK, first=PLAIN), "/silent": says(FOR_EVER)}
        for path in ("/endless", "/silent"):
            with socket.create_connection(("127.0.0.1", server.port)) as sock:
                sock.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
                time.sleep(0.1)
        left = socket.create_connection(("127.0.0.1", server.port))
        left.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
        time.sleep(0.1)
        assert server.paths() == ["/endless", "/silent", "/endless"]
    left.close()
    assert set(threading.enumerate()) <= before


def test_what_is_sent_is_one_plain_request(server):
    server.scripts["*"] = says(PLAIN + b"hello")
    CLIENT.get(Request(url=server.url("/a//b/../c;d?x=%41&y#z"), etag='W/"1"', headers={"X-Key": "k"}))
    (asked,) = server.asked
    assert asked.raw == (
        b"GET /a//b/../c;d?x=%%41&y HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: Wellspring/0.1.0\r\n"
        b'Accept: */*\r\nAccept-Encoding: gzip, deflate, br\r\nX-Key: k\r\nIf-None-Match: W/"1"\r\n'
        b"Connection: close\r\n\r\n" % server.port
    )


def test_a_redirect_chain_at_the_limit_is_followed_and_one_longer_is_not(server):
    server.scripts["*"] = lambda asked: [
        PLAIN + b"hello" if asked.path == "/0" else redirect(b"/%d" % (int(asked.path[1:]) - 1))
    ]
    assert CLIENT.get(Request(url=server.url("/5"))).hops == (302,) * 5
    assert failure(server.url("/6")).error_class is REDIRECTS
    assert len(server.asked) == 6 + 6, "what is over the limit is not asked for"


def test_a_validator_with_a_line_break_in_it_makes_no_header_of_its_own(server):
    server.scripts["*"] = says(OK + b'ETag: "a"\r\n\tX-Made: up\r\nContent-Length: 5\r\n\r\nhello')
    etag = CLIENT.get(Request(url=server.url("/"))).headers.get("etag")
    CLIENT.get(Request(url=server.url("/"), etag=etag))
    assert b"\n\tX-Made" not in server.asked[1].raw


def test_a_redirect_to_a_name_beyond_ascii_asks_for_its_bytes(server):
    server.scripts |= {"/": says(redirect("/café".encode())), "*": says(PLAIN + b"hello")}
    CLIENT.get(Request(url=server.url("/")))
    assert server.paths() == ["/", "/caf%C3%A9"]


def test_a_server_that_resets_as_soon_as_it_accepts_is_always_named():
    """The reset races with every step of the client, so that it is tried many times."""
    classes = set()
    with Hostile(at_once=says(RESET)) as server:
        for _ in range(300):
            with pytest.raises(FetchError) as caught:
                CLIENT.get(Request(url=server.url("/")))
            classes.add(caught.value.error_class)
    assert classes <= {BAD_HTTP, ErrorClass.CONNECT}


class Answers:
    """A resolver that has these addresses for every name."""

    def __init__(self, *found):
        self.found = [ip_address(address) for address in found]

    def addresses(self, host, port, *, timeout):
        return self.found


@contextmanager
def a_deaf_port(address, port):
    """Listen on an address so that every connection hangs: the queue of those not yet accepted is full."""
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deaf.bind((address, port))
        deaf.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        try:
            for sock in waiting:
                sock.setblocking(False)
                sock.connect_ex((address, port))
            time.sleep(0.1)
            yield
        finally:
            for sock in waiting:
                sock.close()


def a_client_that_finds(*found):
    client = HttpClient(LOCAL)
    client._dialler = replace(client._dialler, resolver=Answers(*found))
    return client


@contextmanager
def nothing_left_open():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_a_host_none_of_whose_addresses_answers_is_given_up_in_time(server):
    client = a_client_that_finds("127.0.0.2", "127.0.0.3")
    with (
        a_deaf_port("127.0.0.2", server.port),
        a_deaf_port("127.0.0.3", server.port),
        nothing_left_open(),
    ):
        assert failure(f"http://dead.example:{server.port}/", client).error_class is TIMEOUT


def test_a_dead_address_does_not_hide_a_living_one(server):
    server.scripts["*"] = says(PLAIN + b"hello")
    client = a_client_that_finds("127.0.0.2", "127.0.0.1")
    request = Request(url=f"http://half-dead.example:{server.port}/")
    body = None
    with a_deaf_port("127.0.0.2", server.port), nothing_left_open(), suppress(FetchError):
        body = client.get(request).body
    assert body == b"hello"


def feed(inner, doctype=b""):
    return b'<?xml version="1.0"?>' + doctype + b'<rss version="2.0"><channel>' + inner + b"</channel></rss>"


def entities(*pairs):
    return b"<!DOCTYPE rss [" + b"".join(b'<!ENTITY %b "%b">' % pair for pair in pairs) + b"]>"


LAUGHS = entities((b"l0", b"lol"), *((b"l%d" % n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10)))
ITEM = b"<item><title>one</title><description>%b</description></item>"
DOCUMENTS = {
    "a billion laughs": (feed(ITEM % b"&l9;", LAUGHS), "application/rss+xml"),
    "one long entity, used often": (
        feed(ITEM % (b"&a;" * 50_000), entities((b"a", b"a" * 50_000))),
        "application/rss+xml",
    ),
    "an entity that names itself": (
        feed(ITEM % b"&a;", entities((b"a", b"&b;"), (b"b", b"&a;"))),
        "text/xml",
    ),
    "elements nested deeply": (feed(b"<x>" * 100_000 + b"</x>" * 100_000), "text/xml"),
    "elements nested deeply in an entry": (feed(ITEM % (b"<b>" * 100_000 + b"</b>" * 100_000)), "text/xml"),
    "elements nested deeply in an entry's text": (feed(ITEM % (b"&lt;b&gt;" * 80_000)), "text/xml"),
    "elements that are never closed": (feed(b"<item><title>" * 60_000), "text/xml"),
    "a hundred thousand entries": (feed(b"<item/>" * 100_000), "text/xml"),
    "an attribute as long as the document": (feed(b'<item x="' + b"y" * 900_000 + b'"/>'), "text/xml"),
    "fifty thousand attributes": (
        feed(b"<item " + b" ".join(b'a%d="b"' % n for n in range(50_000)) + b"/>"),
        "text/xml",
    ),
    "one entry with a word of a megabyte": (feed(ITEM % (b"x" * 900_000)), "text/xml"),
    "a title of opening brackets": (feed(ITEM % (b"<![CDATA[" + b"<" * 900_000 + b"]]>")), "text/xml"),
    "an author on whom a regular expression runs wild": (
        feed(b"<item><author>" + b"a" * 900_000 + b"</author></item>"),
        "text/xml",
    ),
    "NULs between the entries": (feed(b"\x00" * 500_000 + ITEM % b"a\x00b"), "text/xml"),
    "nothing but NULs": (b"\x00" * 900_000, "text/xml"),
    "nothing but opening brackets": (b"<" * 900_000, "text/xml"),
    "a comment that is never closed": (feed(b"<!-- " + b"-" * 900_000), "text/xml"),
    "a page instead of a feed": (b"<!doctype html><html><body>" + b"<p>hi" * 100_000, "text/html"),
    "UTF-8 that is called UTF-16": (rss(1), "text/xml; charset=utf-16"),
    "UTF-8 that is called UTF-7": (rss(1), "text/xml; charset=utf-7"),
    "a charset that does not exist": (rss(1), "text/xml; charset=no-such-thing"),
    "a charset that is a codec of another kind": (rss(1), "text/xml; charset=zlib_codec"),
    "UTF-16 that is called UTF-8": (rss(1).decode().encode("utf-16"), "text/xml; charset=utf-8"),
    "JSON": (b"[" * 900_000, "application/feed+json"),
    "a PNG": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1_000, "image/png"),
    "an archive": (BOMB, "application/gzip"),
    "the name of a file": (b"/etc/passwd", "text/plain"),
    "a URL": (b"http://127.0.0.1:1/feed", "text/plain"),
}


@pytest.fixture(scope="module")
def sandbox():
    made = Sandbox(timedelta(seconds=PARSE_SECONDS))
    yield made
    made.close()


def polled(server, sandbox, body, content_type="application/rss+xml"):
    head = b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n" % (content_type.encode(), len(body))
    server.scripts["*"] = says(OK + head + body)
    world = replace(memory.world(CLIENT, timestamps.now), parse=sandbox.parse)
    return poll.request(a_source(url=server.url("/"), type="rss"), world, LOCAL)


SEEN = {ErrorClass.NOT_FEED, ErrorClass.PARSE, ErrorClass.PARSE_TIMEOUT, ErrorClass.EMPTY}


@pytest.mark.parametrize(("body", "content_type"), table(DOCUMENTS))
def test_a_hostile_document_is_parsed_or_named_in_time_and_in_bounds(server, sandbox, body, content_type):
    with in_bounds(seconds=DEADLINE + PARSE_SECONDS + START_SECONDS, memory=64_000_000):
        found = polled(server, sandbox, body, content_type)
    assert found.backtrace is None
    assert found.error is None or found.error.error_class in SEEN


@pytest.mark.parametrize(
    "told", ["an author on whom a regular expression runs wild", "fifty thousand attributes"]
)
def test_only_the_deadline_of_parsing_ends_these(server, told):
    short = Sandbox(timedelta(seconds=0.3))
    try:
        found = polled(server, short, *DOCUMENTS[told])
        assert found.error and found.error.error_class is ErrorClass.PARSE_TIMEOUT
    finally:
        short.close()


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param('<!ENTITY x SYSTEM "{url}">', id="an entity"),
        pytest.param('<!ENTITY x PUBLIC "-//x//y" "{url}">', id="a public entity"),
        pytest.param('<!ENTITY % p SYSTEM "{url}"> %p;', id="a parameter entity"),
    ],
)
def test_an_outside_entity_is_neither_read_nor_asked_for(server, sandbox, tmp_path, declared):
    secret = tmp_path / "secret.txt"
    secret.write_text("the content of a local file")
    with Hostile(everywhere=True) as listener:
        for url in (secret.as_uri(), listener.url("/entity"), str(secret)):
            doctype = f"<!DOCTYPE rss [{declared.replace('{url}', url)}]>".encode()
            found = polled(server, sandbox, feed(ITEM % b"before &x; after", doctype))
            assert "local file" not in repr(found.document)
            assert found.error is None or found.error.error_class in SEEN
        assert listener.reached == []


@pytest.mark.parametrize(
    "outside",
    [
        pytest.param('<!DOCTYPE rss SYSTEM "{url}">', id="a document type"),
        pytest.param('<?xml-stylesheet type="text/xsl" href="{url}"?>', id="a style sheet"),
    ],
)
def test_what_a_document_names_outside_is_not_asked_for(server, sandbox, outside):
    inner = (
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{url}"/>' + (ITEM % b"hello").decode()
    )
    with Hostile(everywhere=True) as listener:
        url = listener.url("/outside")
        body = feed(inner.replace("{url}", url).encode(), outside.replace("{url}", url).encode())
        found = polled(server, sandbox, body)
        assert found.document and [entry.body for entry in found.document.entries] == ["hello"]
        assert listener.reached == []


def test_a_page_instead_of_a_feed_is_named_and_leaves_no_document(server, sandbox):
    found = polled(server, sandbox, b"<!doctype html><html><title>hi</title></html>", "text/html")
    assert found.document is None
    assert found.error and found.error.error_class is ErrorClass.NOT_FEED


def test_a_feed_under_a_wrong_charset_keeps_its_entries(server, sandbox):
    body = rss(1, body_1="Grüße aus Köln, lang genug für einen Eintrag. " * 3)
    found = polled(server, sandbox, body, "text/xml; charset=us-ascii")
    assert found.document and "Grüße aus Köln" in found.document.entries[0].body
