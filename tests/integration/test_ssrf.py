"""No URL, name or redirect leads the HTTP client to an address that is not public."""

import ssl
import time
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address

import pytest

from hostile import Hostile, says
from wellspring import settings
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import HttpClient, Request
from wellspring.settings import Settings
from wellspring.urls import Target
from wellspring.wire import Deadline, Dialler

SHORT = replace(
    Settings(), fetch_timeout=timedelta(seconds=2), connect_timeout=timedelta(seconds=1), max_redirects=2
)
LOCAL = replace(SHORT, allow_addresses=settings.networks("127.0.0.1/32"))
CLIENT = HttpClient(SHORT)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

ADDRESS, URL = {ErrorClass.BLOCKED_ADDRESS}, {ErrorClass.BLOCKED_URL}
UNKNOWN = ADDRESS | {ErrorClass.DNS, ErrorClass.TIMEOUT}
"""For what is a name to some systems and an address to others."""

HOSTS = {
    "loopback": ("127.0.0.1", ADDRESS),
    "loopback, its last address": ("127.255.255.254", ADDRESS),
    "loopback as one decimal number": ("2130706433", ADDRESS),
    "loopback as one octal number": ("017700000001", ADDRESS),
    "loopback as one hexadecimal number": ("0x7f000001", ADDRESS),
    "loopback as a hexadecimal number in capitals": ("0X7F000001", ADDRESS),
    "loopback in octal parts": ("0177.0.0.01", ADDRESS),
    "loopback in hexadecimal parts": ("0x7f.0x0.0x0.0x1", ADDRESS),
    "loopback in mixed parts": ("0x7f.0.01", ADDRESS),
    "loopback in two parts": ("127.1", ADDRESS),
    "loopback in three parts": ("127.0.1", ADDRESS),
    "loopback with zeros in front": ("127.0.0.001", ADDRESS),
    "loopback with many zeros in front": ("00000000177.0.0.1", ADDRESS),
    "loopback with a number that overflows": ("4294967296", UNKNOWN),
    "loopback with a part that overflows": ("383.0.0.1", UNKNOWN),
    "loopback with a dot behind it": ("127.0.0.1.", UNKNOWN),
    "loopback in full-width digits": ("１２７.０.０.１", ADDRESS),
    "loopback in circled digits": ("①②⑦.⓪.⓪.①", ADDRESS),
    "loopback with ideographic dots": ("127。0。0。1", ADDRESS),
    "loopback with full-width dots": ("127．0．0．1", ADDRESS),
    "loopback with half-width dots": ("127｡0｡0｡1", ADDRESS),
    "loopback with a soft hyphen": ("127.0.0\u00ad.1", ADDRESS),
    "loopback with a zero-width space": ("127.0.0.\u200b1", ADDRESS),
    "loopback in Arabic digits": ("١٢٧.٠.٠.١", ADDRESS | URL | {ErrorClass.DNS, ErrorClass.TIMEOUT}),
    "this host": ("0.0.0.0", ADDRESS),
    "this host as a number": ("0", ADDRESS),
    "this host as a hexadecimal number": ("0x0", ADDRESS),
    "this network": ("0.1.2.3", ADDRESS),
    "localhost": ("localhost", ADDRESS),
    "localhost in capitals": ("LocalHost", ADDRESS),
    "localhost in script letters": ("ℓocalhost", ADDRESS),
    "localhost with a dot behind it": ("localhost.", UNKNOWN),
    "a name below localhost": ("feed.localhost", UNKNOWN),
    "localhost by its IPv6 name": ("ip6-localhost", UNKNOWN),
    "private, 10/8": ("10.0.0.1", ADDRESS),
    "private, 10/8 in two parts": ("10.1", ADDRESS),
    "private, 172.16/12": ("172.16.0.1", ADDRESS),
    "private, 172.16/12, its end": ("172.31.255.255", ADDRESS),
    "private, 192.168/16": ("192.168.1.1", ADDRESS),
    "carrier-grade NAT": ("100.64.0.1", ADDRESS),
    "carrier-grade NAT, its end": ("100.127.255.254", ADDRESS),
    "link-local": ("169.254.0.1", ADDRESS),
    "the metadata service": ("169.254.169.254", ADDRESS),
    "the metadata service as a number": ("2852039166", ADDRESS),
    "the metadata service in hexadecimal": ("0xa9fea9fe", ADDRESS),
    "the metadata service in octal": ("0251.0376.0251.0376", ADDRESS),
    "the containers' credentials": ("169.254.170.2", ADDRESS),
    "Lambda's own interface": ("169.254.100.1", ADDRESS),
    "protocol assignments": ("192.0.0.1", ADDRESS),
    "NAT64 discovery": ("192.0.0.171", ADDRESS),
    "the 6to4 relay": ("192.88.99.1", ADDRESS),
    "documentation 1": ("192.0.2.1", ADDRESS),
    "documentation 2": ("198.51.100.1", ADDRESS),
    "documentation 3": ("203.0.113.1", ADDRESS),
    "benchmarking": ("198.18.0.1", ADDRESS),
    "benchmarking, its end": ("198.19.255.255", ADDRESS),
    "multicast": ("224.0.0.1", ADDRESS),
    "multicast, its end": ("239.255.255.255", ADDRESS),
    "reserved": ("240.0.0.1", ADDRESS),
    "broadcast": ("255.255.255.255", ADDRESS),
    "IPv6 loopback": ("[::1]", ADDRESS),
    "IPv6 loopback in full": ("[0:0:0:0:0:0:0:1]", ADDRESS),
    "IPv6 loopback with zeros": ("[0000:0000:0000:0000:0000:0000:0000:0001]", ADDRESS),
    "IPv6 this host": ("[::]", ADDRESS),
    "IPv4-mapped, dotted": ("[::ffff:127.0.0.1]", ADDRESS),
    "IPv4-mapped, hexadecimal": ("[::ffff:7f00:1]", ADDRESS),
    "IPv4-mapped, in full": ("[0:0:0:0:0:ffff:7f00:0001]", ADDRESS),
    "IPv4-mapped, in capitals": ("[::FFFF:7F00:1]", ADDRESS),
    "IPv4-mapped, the metadata service": ("[::ffff:169.254.169.254]", ADDRESS),
    "IPv4-mapped, a public one": ("[::ffff:8.8.8.8]", ADDRESS),
    "IPv4-compatible": ("[::127.0.0.1]", ADDRESS),
    "IPv4-compatible, hexadecimal": ("[::7f00:1]", ADDRESS),
    "IPv4-translated": ("[::ffff:0:127.0.0.1]", ADDRESS),
    "NAT64 of loopback": ("[64:ff9b::127.0.0.1]", ADDRESS),
    "NAT64 of the metadata service": ("[64:ff9b::a9fe:a9fe]", ADDRESS),
    "NAT64 for local use": ("[64:ff9b:1::7f00:1]", ADDRESS),
    "6to4 of loopback": ("[2002:7f00:1::]", ADDRESS),
    "6to4 of a private network": ("[2002:a00:1::1]", ADDRESS),
    "Teredo": ("[2001:0:4136:e378:8000:63bf:80ff:fffe]", ADDRESS),
    "ORCHID": ("[2001:20::1]", ADDRESS),
    "IPv6 benchmarking": ("[2001:2::1]", ADDRESS),
    "IPv6 documentation": ("[2001:db8::1]", ADDRESS),
    "IPv6 documentation, the new one": ("[3fff::1]", ADDRESS),
    "IPv6 link-local": ("[fe80::1]", ADDRESS),
    "IPv6 link-local, its end": ("[febf::1]", ADDRESS),
    "IPv6 site-local": ("[fec0::1]", ADDRESS),
    "IPv6 unique local": ("[fc00::1]", ADDRESS),
    "IPv6 unique local, its other half": ("[fd12:3456:789a::1]", ADDRESS),
    "the metadata service over IPv6": ("[fd00:ec2::254]", ADDRESS),
    "IPv6 multicast": ("[ff02::1]", ADDRESS),
    "IPv6 discard": ("[100::1]", ADDRESS),
    "IPv6 segment routing": ("[5f00::1]", ADDRESS),
    "IPv6 that nobody was given": ("[4000::1]", ADDRESS),
    "a zone": ("[fe80::1%25eth0]", URL),
    "a zone without its percent sign": ("[fe80::1%eth0]", URL),
    "a zone on loopback": ("[::1%25lo]", URL),
    "a percent-encoded dot": ("127%2e0%2e0%2e1", URL),
    "percent-encoded digits": ("%31%32%37.0.0.1", URL),
    "a percent-encoded NUL": ("example.org%00.127.0.0.1", URL),
    "IPv4 in brackets": ("[127.0.0.1]", URL | ADDRESS),
    "brackets that do not close": ("[::1", URL),
    "something behind the brackets": ("[::1].example.org", URL | ADDRESS),
    "an address of the future": ("[v1.127.0.0.1]", URL | UNKNOWN),
    "a user name": ("example.org@127.0.0.1", URL),
    "a user name and a password": ("user:secret@127.0.0.1", URL),
    "an empty user name": ("@127.0.0.1", URL),
    "two user names": ("a@example.org@127.0.0.1", URL),
    "a percent-encoded at sign": ("example.org%40127.0.0.1", URL),
    "a full-width at sign": ("example.org＠127.0.0.1", URL),
    "a user name behind a fragment": ("127.0.0.1#@example.org", ADDRESS),
    "a user name behind a query": ("127.0.0.1?@example.org", ADDRESS),
    "a backslash": ("example.org\\127.0.0.1", URL),
    "a backslash and a user name": ("127.0.0.1\\@example.org", URL),
    "a full-width slash": ("127.0.0.1／.example.org", URL),
    "a line break": ("127.0.0.1\r\nX: y", URL),
    "a tab inside": ("127.0\t.0.1", URL),
    "a NUL": ("127.0.0.1\x00.example.org", URL),
    "a space in front": (" 127.0.0.1", URL),
    "a space behind": ("127.0.0.1 ", URL),
    "a delete character": ("127.0.0.1\x7f", URL),
    "an ideographic space": ("127.0.0.1\u3000", URL),
    "a comma": ("127.0.0.1,example.org", URL),
    "a dash in front": ("-127.0.0.1", URL),
    "a dot in front": (".127.0.0.1", URL),
    "nothing": ("", URL),
}
URLS = {
    "a port too many": ("http://127.0.0.1:80:{port}/", URL),
    "port 0": ("http://127.0.0.1:0/", URL),
    "a port beyond the last": ("http://127.0.0.1:65536/", URL),
    "a negative port": ("http://127.0.0.1:-1/", URL),
    "a port with a sign": ("http://127.0.0.1:+{port}/", URL),
    "a port in full-width digits": ("http://127.0.0.1:８０/", URL),
    "no port behind the colon": ("http://127.0.0.1:/", ADDRESS),
    "the port of SSH": ("http://127.0.0.1:22/", ADDRESS),
    "Lambda's runtime API": ("http://127.0.0.1:9001/2018-06-01/runtime/invocation/next", ADDRESS),
    "https": ("https://127.0.0.1:{port}/", ADDRESS),
    "a scheme in capitals": ("HTTP://127.0.0.1:{port}/", ADDRESS),
    "file": ("file:///etc/passwd", URL),
    "file with a host": ("file://127.0.0.1/etc/passwd", URL),
    "ftp": ("ftp://127.0.0.1:{port}/", URL),
    "gopher": ("gopher://127.0.0.1:{port}/_INFO", URL),
    "dict": ("dict://127.0.0.1:{port}/info", URL),
    "ldap": ("ldap://127.0.0.1:{port}/", URL),
    "data": ("data:text/xml,<rss/>", URL),
    "javascript": ("javascript:alert(1)", URL),
    "jar": ("jar:http://127.0.0.1:{port}/!/", URL),
    "a feed's own scheme": ("feed:http://127.0.0.1:{port}/", URL),
    "a Unix socket": ("http+unix://%2Fvar%2Frun%2Fdocker.sock/", URL),
    "no scheme": ("//127.0.0.1:{port}/", URL),
    "no scheme and no slashes": ("127.0.0.1:{port}/", URL),
    "one slash": ("http:/127.0.0.1:{port}/", URL),
    "three slashes": ("http:///127.0.0.1:{port}/", URL),
    "no slash": ("http:127.0.0.1:{port}", URL),
    "a space before the scheme": (" http://127.0.0.1:{port}/", URL),
    "a line break in the scheme": ("ht\ntp://127.0.0.1:{port}/", URL),
    "an empty URL": ("", URL),
    "a path that is too long": ("http://127.0.0.1:{port}/" + "x" * 9_000, URL),
}
FORMS = {f"http to {told}": (f"http://{host}:{{port}}/", classes) for told, (host, classes) in HOSTS.items()}
FORMS |= URLS


AWAY = {
    told: (form, classes | ADDRESS | URL)
    for told, (form, classes) in FORMS.items()
    # The others lead back to the server that redirects, or are no header any more.
    if form.isascii() and "//" in form and "\n" not in form and told != "three slashes"
}


def table(forms):
    return [pytest.param(*case, id=told) for told, case in forms.items()]


@pytest.fixture(scope="module")
def listener():
    """Hears every connection to any address of this machine; at the end, there was none but our own."""
    with Hostile(everywhere=True) as running:
        running.scripts["*"] = says(HELLO)
        yield running
        assert running.reached == []
        assert HttpClient(LOCAL).get(Request(url=running.url("/"))).body == b"hello", "it does hear"
        assert running.reached == ["127.0.0.1"]


@pytest.fixture(scope="module")
def redirecting():
    with Hostile(everywhere=True) as running:
        yield running


class Names:
    """A resolver with answers of our own: for each name, one list of addresses after the other."""

    def __init__(self, **answers):
        self.answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked = []

    def addresses(self, host, port, *, timeout):
        self.asked.append(host)
        found = self.answers[host]
        return [ip_address(text) for text in (found.pop(0) if len(found) > 1 else found[0])]


def a_client(names, allowed):
    client = HttpClient(replace(SHORT, allow_addresses=settings.networks(allowed)))
    client._dialler = replace(client._dialler, resolver=names)
    return client


def refusal(client, url):
    with pytest.raises(FetchError) as caught:
        client.get(Request(url=url))
    assert "secret" not in str(caught.value)
    return caught.value.error_class


def redirect(location):
    return b"HTTP/1.1 302 Found\r\nLocation: " + location.encode() + b"\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(("form", "classes"), table(FORMS))
def test_what_is_not_public_is_refused(listener, form, classes):
    assert refusal(CLIENT, form.replace("{port}", str(listener.port))) in classes


ELSEWHERE = HttpClient(replace(SHORT, allow_addresses=settings.networks("127.0.0.3/32")))
"""May reach the server that redirects, and nothing else that is not public."""


@pytest.mark.parametrize(("form", "classes"), table(AWAY))
def test_a_redirect_to_what_is_not_public_is_refused(listener, redirecting, form, classes):
    redirecting.scripts["*"] = says(redirect(form.replace("{port}", str(listener.port))))
    before = len(redirecting.asked)
    assert refusal(ELSEWHERE, f"http://127.0.0.3:{redirecting.port}/") in classes
    assert len(redirecting.asked) == before + 1


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(["127.0.0.1"], id="loopback"),
        pytest.param(["10.0.0.1"], id="a private one"),
        pytest.param(["169.254.169.254"], id="the metadata service"),
        pytest.param(["::1"], id="IPv6 loopback"),
        pytest.param(["::ffff:127.0.0.1"], id="an IPv4-mapped one"),
        pytest.param(["fe80::1%lo"], id="one with a zone"),
        pytest.param(["2606:4700::1111%lo"], id="a public one with a zone"),
        pytest.param(["64:ff9b::7f00:1"], id="a NAT64 one"),
        pytest.param(["127.0.0.1", "8.8.8.8"], id="a private one before a public one"),
        pytest.param(["8.8.8.8", "127.0.0.1"], id="a private one behind a public one"),
        pytest.param(["8.8.8.8", "8.8.4.4", "2606:4700::1111", "::1"], id="a private one among many"),
        pytest.param(["0.0.0.0"], id="none, as blockers of names answer"),
    ],
)
def test_a_name_with_an_address_that_is_not_public_is_refused_before_any_is_dialled(listener, found):
    names = Names(feeds_example=[found])
    dialler = Dialler(names, ssl.create_default_context(), (), 1.0)
    for scheme in ("http", "https"):
        with pytest.raises(FetchError) as caught:
            target = Target(scheme, "feeds.example", listener.port, "/")
            dialler.dial(target, Deadline(time.monotonic() + 1))
        assert caught.value.error_class is ErrorClass.BLOCKED_ADDRESS
    assert names.asked == ["feeds.example"] * 2


def test_a_name_that_changes_after_the_check_is_dialled_where_it_was_checked():
    """The first answer may be dialled, the second one may not: a second look would betray itself."""
    names = Names(rebinding_example=[["127.0.0.2"], ["127.0.0.1"]])
    with Hostile(everywhere=True) as server:
        server.scripts["*"] = says(HELLO)
        url = f"http://rebinding.example:{server.port}/"
        client = a_client(names, "127.0.0.2/32")
        assert client.get(Request(url=url)).body == b"hello"
        assert (names.asked, server.reached) == (["rebinding.example"], ["127.0.0.2"])
        assert server.asked[0].headers["host"] == f"rebinding.example:{server.port}"
        assert refusal(client, url) is ErrorClass.BLOCKED_ADDRESS
        assert server.reached == ["127.0.0.2"]


def test_a_name_that_changes_before_a_redirect_to_itself_is_checked_again():
    names = Names(rebinding_example=[["127.0.0.2"], ["127.0.0.1"]])
    with Hostile(everywhere=True) as server:
        server.scripts["*"] = says(redirect("/again"))
        client = a_client(names, "127.0.0.2/32")
        assert refusal(client, f"http://rebinding.example:{server.port}/") is ErrorClass.BLOCKED_ADDRESS
        assert (len(names.asked), server.reached) == (2, ["127.0.0.2"])


def test_a_redirect_to_a_name_of_a_private_address_is_refused(listener):
    names = Names(start_example=[["127.0.0.2"]], inside_example=[["127.0.0.1"]])
    with Hostile(everywhere=True) as server:
        server.scripts["*"] = says(redirect(f"http://inside.example:{listener.port}/"))
        client = a_client(names, "127.0.0.2/32")
        assert refusal(client, f"http://start.example:{server.port}/") is ErrorClass.BLOCKED_ADDRESS
        assert names.asked == ["start.example", "inside.example"]


@pytest.mark.parametrize(
    "host", ["[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[2002:7f00:1::]", "10.0.0.1"]
)
def test_allowing_loopback_allows_nothing_else(listener, host):
    client = HttpClient(replace(SHORT, allow_addresses=settings.networks("127.0.0.0/8")))
    assert refusal(client, f"http://{host}:{listener.port}/") is ErrorClass.BLOCKED_ADDRESS


def test_a_proxy_of_the_environment_is_not_used(listener, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, listener.url("/"))
    names = Names(feeds_example=[["127.0.0.2"]])
    with Hostile(everywhere=True) as server:
        server.scripts["*"] = says(HELLO)
        client = a_client(names, "127.0.0.2/32")
        assert client.get(Request(url=f"http://feeds.example:{server.port}/")).body == b"hello"
