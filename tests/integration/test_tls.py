"""TLS against real servers on loopback: who cannot be verified gets no request."""

import shutil
import ssl
import subprocess
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from hostile import FOR_EVER, RESET, Hostile, drips, says
from wellspring import settings
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import HttpClient, Request
from wellspring.settings import Settings

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificates")

DEADLINE, CONNECT, GRACE = 1.0, 0.5, 1.0
LOCAL = replace(
    Settings(),
    allow_addresses=settings.networks("127.0.0.0/8"),
    fetch_timeout=timedelta(seconds=DEADLINE),
    connect_timeout=timedelta(seconds=CONNECT),
)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
MAKE = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
CONFIG = """
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = Wellspring's tests
[extensions]
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign
subjectKeyIdentifier = hash
subjectAltName = {names}
"""


class Certificate:
    """A certificate for these names, signed by itself."""

    def __init__(self, folder, names):
        self.file, self.key, config = folder / "certificate.pem", folder / "key.pem", folder / "config"
        config.write_text(CONFIG.format(names=names))
        subprocess.run(
            [*MAKE, "-config", config, "-days", "2", "-keyout", self.key, "-out", self.file],
            check=True,
            capture_output=True,
        )

    def expire(self):
        sign = ["openssl", "x509", "-in", self.file, "-signkey", self.key, "-days", "-1", "-out", self.file]
        subprocess.run(sign, check=True, capture_output=True)

    def server(self, newest=ssl.TLSVersion.MAXIMUM_SUPPORTED):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        context.maximum_version = newest
        return context

    def client(self):
        """Return a client that trusts this certificate alone."""
        return HttpClient(LOCAL, tls=ssl.create_default_context(cafile=self.file))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return Certificate(tmp_path_factory.mktemp("good"), "IP:127.0.0.1")


@pytest.fixture(scope="module")
def of_another(tmp_path_factory):
    return Certificate(tmp_path_factory.mktemp("another"), "DNS:example.org,IP:127.0.0.9")


def failure(client, server, path="/"):
    began = time.monotonic()
    with pytest.raises(FetchError) as caught:
        client.get(Request(url=server.url(path, "https"), headers={"Authorization": "secret"}))
    assert time.monotonic() - began < DEADLINE + GRACE
    return caught.value


def test_a_server_that_can_be_verified_is_fetched_from(good):
    with Hostile(tls=good.server()) as server:
        server.scripts["*"] = says(HELLO)
        assert good.client().get(Request(url=server.url("/feed", "https"))).body == b"hello"
        assert server.asked[0].headers["host"] == f"127.0.0.1:{server.port}"


def test_a_certificate_that_nobody_vouches_for_is_refused_and_gets_no_request(good):
    with Hostile(tls=good.server()) as server:
        error = failure(HttpClient(LOCAL), server)
        assert (error.error_class, server.asked) == (ErrorClass.TLS, [])
        assert "self-signed" in str(error) or "self signed" in str(error)


def test_a_certificate_of_another_host_is_refused_and_gets_no_request(of_another):
    with Hostile(tls=of_another.server()) as server:
        error = failure(of_another.client(), server)
        assert (error.error_class, server.asked) == (ErrorClass.TLS, [])
        assert "127.0.0.1" in str(error)


def test_a_name_is_verified_too_not_the_address_alone(good):
    """The address is the right one, but the URL asks for a name that the certificate does not have."""
    with Hostile(tls=good.server()) as server, pytest.raises(FetchError) as caught:
        good.client().get(Request(url=f"https://localhost:{server.port}/"))
    assert caught.value.error_class in (ErrorClass.TLS, ErrorClass.BLOCKED_ADDRESS), "::1 is not allowed"
    assert server.asked == []


def test_a_certificate_that_has_expired_is_refused(tmp_path):
    expired = Certificate(tmp_path, "IP:127.0.0.1")
    expired.expire()
    with Hostile(tls=expired.server()) as server:
        error = failure(expired.client(), server)
        assert (error.error_class, server.asked) == (ErrorClass.TLS, [])
        assert "expired" in str(error)


def test_tls_that_is_too_old_is_refused(good):
    with pytest.warns(DeprecationWarning):
        context = good.server(ssl.TLSVersion.TLSv1_1)
        context.minimum_version = ssl.TLSVersion.TLSv1
    with Hostile(tls=context) as server:
        assert failure(good.client(), server).error_class is ErrorClass.TLS


def test_every_hop_is_verified(good, of_another):
    with Hostile(tls=of_another.server()) as bad, Hostile(tls=good.server()) as server:
        location = bad.url("/", "https").encode()
        server.scripts["*"] = says(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n\r\n")
        assert failure(good.client(), server).error_class is ErrorClass.TLS
        assert (len(server.asked), bad.asked) == (1, [])


def test_a_secret_does_not_follow_a_redirect_out_of_tls(good):
    with Hostile() as plain, Hostile(tls=good.server()) as server:
        location = plain.url("/").encode()
        server.scripts["*"] = says(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n\r\n")
        plain.scripts["*"] = says(HELLO)
        request = Request(url=server.url("/", "https"), headers={"Authorization": "secret"})
        assert good.client().get(request).body == b"hello"
        assert b"secret" in server.asked[0].raw
        assert b"secret" not in plain.asked[0].raw


@pytest.mark.parametrize(
    ("script", "error_class"),
    [
        pytest.param(says(), ErrorClass.TLS, id="it breaks off in the handshake"),
        pytest.param(says(0.1, RESET), ErrorClass.TLS, id="it resets in the handshake"),
        pytest.param(says(b"\x16\x03\x03\x00\x7a\x02", 0.1), ErrorClass.TLS, id="it breaks off in its hello"),
        pytest.param(says(FOR_EVER), ErrorClass.TIMEOUT, id="it never answers the handshake"),
        pytest.param(
            drips(b"", first=b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc", for_ever=b"\x00"),
            ErrorClass.TIMEOUT,
            id="its hello comes byte by byte",
        ),
        pytest.param(says(HELLO, 0.2), ErrorClass.TLS, id="it speaks plain HTTP"),
        pytest.param(says(b"\x15\x03\x03\x00\x02\x02\x28", 0.2), ErrorClass.TLS, id="it sends an alert"),
        pytest.param(says(b"220 mail ESMTP\r\n", 0.2), ErrorClass.TLS, id="it is a mail server"),
        pytest.param(says(bytes(1_000), 0.2), ErrorClass.TLS, id="it sends NULs"),
    ],
)
def test_a_handshake_that_fails_is_named_in_time(script, error_class):
    with Hostile(at_once=script) as server:
        assert failure(HttpClient(LOCAL), server).error_class is error_class


@pytest.mark.parametrize(
    ("script", "error_class"),
    [
        pytest.param(says(FOR_EVER), ErrorClass.TIMEOUT, id="silence behind the handshake"),
        pytest.param(drips(HELLO[:20], pause=0.2), ErrorClass.TIMEOUT, id="a head byte by byte"),
        pytest.param(says(), ErrorClass.BAD_HTTP, id="closed without a word"),
        pytest.param(says(RESET), ErrorClass.BAD_HTTP, id="reset without a word"),
        pytest.param(says(HELLO[:20]), ErrorClass.BAD_HTTP, id="a head that is cut"),
        pytest.param(says(HELLO[:-1]), ErrorClass.TRUNCATED, id="a body that is cut"),
    ],
)
def test_behind_a_good_handshake_the_same_bounds_hold(good, script, error_class):
    with Hostile(tls=good.server()) as server:
        server.scripts["*"] = script
        assert failure(good.client(), server).error_class is error_class
