"""Owns the publishers: feeds that grow, change and fail by a script, and the client that asks them."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from builders import rss
from simulation.faults import Crash
from wellspring import addresses
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import STATUS_CLASSES, Reply

TAKES = timedelta(seconds=0.7)
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.5"
INTRANET = "intranet.example"
SECRET = "s3cr3t-of-the-owner"
PAGE = (
    "<html><head><title>Page {0}</title></head><body><article><h1>Page {0}</h1>"
    + "<p>{1}</p>" * 3
    + "</article></body></html>"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a publisher says from now on: entries as (number, version), or trouble."""

    entries: tuple[tuple[int, int], ...] = ()
    status: int = 200
    error: ErrorClass | None = None
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    """The connection ends in the middle of the document, without anybody being told."""
    kills: bool = False
    """Whoever reads it dies of it."""


def text_of(number, version):
    return f"Body of entry number {number}, version {version}, with words of its own. " * 3


def hash_of(number, version):
    """Return the content hash that an entry must have, by the rule and not by the code."""
    return sha256(" ".join(text_of(number, version).split()).encode()).hexdigest()


@cache
def document(entries, links=""):
    numbers = [number for number, _ in entries]
    body = rss(*numbers, **{f"body_{number}": text_of(number, version) for number, version in entries})
    for number, link in zip(numbers, links.split(), strict=False):
        body = body.replace(f"<link>https://example.org/{number}<".encode(), f"<link>{link}<".encode())
    return body


@dataclass
class Served:
    """One answer to one request."""

    moment: object
    url: str
    status: int
    entries: frozenset = frozenset()
    whole: bool = False
    invocation: object = None


@dataclass
class Publisher:
    """One feed. `says` is what it answers now; each change is a new version with a validator of its own."""

    url: str
    says: Answer = field(default_factory=Answer)
    links: str = ""
    served: list = field(default_factory=list)

    def __post_init__(self):
        self.versions = [self.says]
        self.source_id = ""
        self.troubled = False

    @property
    def version(self):
        return len(self.versions) - 1

    def say(self, answer):
        self.says = answer
        self.troubled |= bool(answer.error or answer.status != 200 or answer.cut)
        self.versions.append(answer)

    def grow(self, *more):
        """Put entries before the others, as publishers do."""
        self.say(Answer((*more, *self.listed)))

    def edit(self, number):
        self.say(Answer(tuple((n, v + (n == number)) for n, v in self.listed)))

    def reorder(self):
        self.say(Answer(tuple(reversed(self.listed))))

    @property
    def listed(self):
        """Return the entries of the last document, whatever the publisher says now."""
        return next((one.entries for one in reversed(self.versions) if one.entries), ())

    def answer(self, request):
        """Return what a request gets now: a reply, or the error that the client makes of it."""
        says, etag = self.says, f'"{self.version}"'
        if says.error:
            return FetchError(says.error, "The publisher is in trouble.")
        if says.status != 200:
            return _refusal(says.status, dict(says.headers))
        if request.etag == etag:
            return Reply(url=request.url, status=304, headers={"etag": etag})
        body = document(says.entries, self.links)
        if says.cut:
            body = body[: int(len(body) * 0.7)]
        return Reply(url=request.url, status=200, headers={"etag": etag} | dict(says.headers), body=body)


def _refusal(status, headers):
    kind = STATUS_CLASSES.get(status, ErrorClass.HTTP_5XX if status >= 500 else ErrorClass.HTTP_4XX)
    return FetchError(kind, f"The server answered {status}.", http_status=status, headers=headers)


class Web:
    """All publishers, and the client that asks them; it checks addresses as the real one does."""

    def __init__(self, stage, publishers):
        self.stage = stage
        self.publishers = {one.url: one for one in publishers}
        self.connections = []
        """Every connection that was opened: when, where to, by whom and with which request."""
        self.pages = {}
        self.asked = lambda me, source_id, moment: None

    def get(self, request):
        if request.check:
            request.check(request.url)
        host = urlsplit(request.url).hostname
        address = ip_address(PRIVATE if host == INTRANET else PUBLIC)
        if not addresses.is_open(address):
            raise FetchError(ErrorClass.BLOCKED_ADDRESS, "The address is not public.")
        stage, me = self.stage, self.stage.me
        self.connections.append((stage.now, host, address, me, request))
        publisher = self.publishers.get(request.url)
        answer = publisher.answer(request) if publisher else self._page(request)
        if publisher:
            publisher.served.append(_served(stage.now, request, answer, publisher.says, me))
            self.asked(me, publisher.source_id, stage.now)
        stage.pass_time(TAKES, meanwhile=stage.nested)
        if publisher and publisher.says.kills:
            me.dead = True
            raise Crash
        if isinstance(answer, FetchError):
            raise answer
        return answer

    def _page(self, request):
        if request.url.endswith("/robots.txt"):
            return _refusal(404, {})
        self.pages[request.url] = self.pages.get(request.url, 0) + 1
        number = request.url.rpartition("/")[2]
        body = PAGE.format(number, f"What page {number} says at length, so that it is read as its text. " * 3)
        return Reply(url=request.url, status=200, headers={"content-type": "text/html"}, body=body.encode())


def _served(moment, request, answer, says, me):
    if isinstance(answer, FetchError):
        return Served(moment, request.url, answer.http_status or 0, invocation=me)
    entries = frozenset(says.entries) if answer.status == 200 else frozenset()
    return Served(moment, request.url, answer.status, entries, not says.cut, me)
