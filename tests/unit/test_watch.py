"""The watch goes on through what passes, and gives up when it does not."""

import pytest

from builders import a_source
from stream import ARN, NOON, FakeStreams
from wellspring.aws.streams import Stream
from wellspring.errors import Denied, NotSignedIn, Unavailable
from wellspring.memory import MemorySources
from wellspring_cli.commands.watch import PATIENCE, PAUSE, SHORT_PAUSE, Names, follow


class Watched:
    """A watch of a stream in which something happens at each pause; after the last, Ctrl-C is typed."""

    def __init__(self, *happenings):
        self.client = FakeStreams()
        self.client.open("first")
        self.stream = Stream(self.client, ARN, now=NOON)
        self.happenings = list(happenings)
        self.shown, self.pauses, self.seconds = [], [], 0.0

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.seconds += seconds
        if not self.happenings:
            raise KeyboardInterrupt
        self.happenings.pop(0)(self)

    def run(self):
        def show(post):
            self.shown.append(post.content_hash)

        follow(self.stream, show, pause=self.pause, clock=lambda: self.seconds)

    def stored(self, name):
        self.client.put("first", name)
        self.client.shards["first"].records[-1]["dynamodb"]["NewImage"] = {
            "source_id": {"S": "a"},
            "content_hash": {"S": name},
        }


def nothing(watched):
    pass


def post(name):
    return lambda watched: watched.stored(name)


def fault(*faults):
    return lambda watched: watched.client.fail(*faults)


def test_posts_are_shown_as_they_come_and_more_is_looked_for_sooner():
    watched = Watched(post("a"), nothing, post("b"))
    with pytest.raises(KeyboardInterrupt):
        watched.run()
    assert watched.shown == ["a", "b"]
    assert watched.pauses == [PAUSE, SHORT_PAUSE, PAUSE, SHORT_PAUSE]


def test_a_throttled_read_is_told_once_and_nothing_is_missed(capsys):
    watched = Watched(fault("LimitExceededException"), fault("LimitExceededException"), post("a"), nothing)
    with pytest.raises(KeyboardInterrupt):
        watched.run()
    assert watched.shown == ["a"]
    assert capsys.readouterr().err.count("It is tried again; what arrives meanwhile is shown then.") == 1


def test_an_outage_that_is_over_is_forgotten(capsys):
    watched = Watched(
        *(fault("InternalServerError") for _ in range(round(PATIENCE))),
        nothing,
        *(fault("InternalServerError") for _ in range(round(PATIENCE))),
    )
    with pytest.raises(KeyboardInterrupt):
        watched.run()
    assert capsys.readouterr().err.count("It is tried again") == 2


def test_an_outage_that_does_not_end_ends_the_watch():
    watched = Watched(*(fault("InternalServerError") for _ in range(2 * round(PATIENCE))))
    with pytest.raises(Unavailable, match="InternalServerError"):
        watched.run()
    assert watched.seconds > PATIENCE


@pytest.mark.parametrize(
    ("code", "error"), [("AccessDeniedException", Denied), ("ExpiredTokenException", NotSignedIn)]
)
def test_what_waiting_does_not_mend_ends_the_watch_at_once(code, error):
    watched = Watched(fault(code))
    with pytest.raises(error):
        watched.run()
    assert watched.pauses == [PAUSE]


class Counted(MemorySources):
    """Sources that count how often they are read; `is_out` makes them fail."""

    reads, is_out = 0, False

    def read(self, source_ids):
        self.reads += 1
        if self.is_out:
            raise Unavailable("Reading sources failed.")
        return super().read(source_ids)


def test_a_source_is_looked_up_once():
    sources = Counted()
    sources.add(a_source("a", title="The News"))
    sources.add(a_source("b", url="https://b.example.org/feed"))
    names = Names(sources)
    assert [names.of(name) for name in ("a", "b", "removed") * 2] == ["The News", "b.example.org", ""] * 2
    assert sources.reads == 3


def test_a_name_that_cannot_be_read_stops_nothing_and_is_asked_for_again():
    sources = Counted()
    sources.add(a_source("a", title="The News"))
    names = Names(sources)
    sources.is_out = True
    assert names.of("a") == ""
    sources.is_out = False
    assert names.of("a") == "The News"
