"""Owns one run: the product's use cases over the ports in memory, the queue that feeds them, the ticks."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from itertools import count
from urllib.parse import urlsplit

from builders import a_source
from simulation.lag import LaggingPosts, LaggingSources
from simulation.publishers import Publisher, Web
from simulation.queue import DeliveringQueue
from simulation.stage import Port, Stage
from simulation.watch import Watcher
from wellspring import batch, plan, views
from wellspring.memory import MemoryFetchLogs, MemoryGates, MemorySecrets
from wellspring.message import FetchMessage
from wellspring.message import parse as parse_message
from wellspring.ports import Outgoing, World
from wellspring.robots import Robots
from wellspring.settings import Defaults, Settings
from wellspring.sources import KINDS

SETTINGS = Settings(shards=1, defaults=Defaults(jitter=0.0))
MINUTE = timedelta(minutes=1)
DOUBLE_AFTER = timedelta(milliseconds=500)
LATE_DOUBLE_AFTER = timedelta(minutes=7)
PLANNER_TIME = timedelta(seconds=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How harsh the world is."""

    duplicates: bool = False
    """Each message is delivered twice while it is worked on, and once more when it is long done."""
    planners: int = 1
    """So many for each tick, one a little after the other."""
    lag: timedelta = timedelta(0)
    mixed: float = 0.0
    skew: timedelta = timedelta(0)
    """How far the clocks of half of the functions are off."""

    def __str__(self):
        planners = "one planner" if self.planners == 1 else f"{self.planners} planners"
        told = f"{planners}, duplicates {'on' if self.duplicates else 'off'}, lag {self.lag.seconds} s"
        return told + (f", clocks off by {self.skew.total_seconds():.0f} s" if self.skew else "")

    @property
    def is_plain(self):
        return self == Setting()


PLAIN = Setting()
HARSH = Setting(duplicates=True, planners=2, lag=timedelta(seconds=3), mixed=0.2)
SETTINGS_SWEPT = (
    PLAIN,
    Setting(duplicates=True),
    Setting(planners=2, lag=timedelta(seconds=3)),
    HARSH,
)


@lru_cache(maxsize=4_000)
def _parsed(kind, url, body, headers):
    from wellspring.http import Reply

    return KINDS[kind].parse(Reply(url=url, status=200, headers=dict(headers), body=body))


def parse(kind, reply):
    return _parsed(kind, reply.url, reply.body, tuple(sorted(reply.headers.items())))


@dataclass
class Simulation:
    """A stack in memory."""

    setting: Setting = PLAIN
    faults: dict = field(default_factory=dict)
    seed: int = 0
    bug: object = None
    """A planted bug, to see whether anybody notices."""

    def __post_init__(self):
        setting = self.setting
        plain = setting.is_plain
        self.stage = stage = Stage(self.faults, self.seed, mixed=setting.mixed, nested=not plain)
        true_time = lambda: stage.now  # noqa: E731
        self.publishers = {}
        self.trusted = set()
        """The servers that a source's own headers are for."""
        self.web = Web(stage, ())
        self.sources = LaggingSources(true_time, setting.lag)
        self.posts = LaggingPosts(true_time, setting.lag)
        self.logs = MemoryFetchLogs()
        self.gates = MemoryGates()
        self.queue = DeliveringQueue(clock=true_time, arrived=self._arrived)
        self.settings = SETTINGS
        self.skewed = bool(setting.skew)
        self.settled = False
        self.violations = []
        self.apart = MINUTE * 10
        """From one tick to the next; None where the ticks come as they like."""
        self.check = list
        """What a story wants to be true in the end, beside the invariants."""
        self.by_hand = []
        self.views = []
        self.doubled = Counter()
        self.runs = []
        self._ids = count(1)
        if self.bug and self.bug.spoil:
            self.bug.spoil(self)
        self.base = World(
            sources=Port("sources", self.sources, stage),
            posts=Port("posts", self.posts, stage),
            logs=Port("logs", self.logs, stage),
            queue=Port("queue", self.queue, stage),
            gates=Port("gates", self.gates, stage),
            http=Port("http", self.web, stage),
            robots=None,
            secrets=MemorySecrets(),
            parse=parse,
            clock=stage.clock,
            pause=stage.wait,
            new_id=lambda: f"id-{next(self._ids)}",
        )
        self.watcher = Watcher(self)
        stage.watchers.append(self.watcher)
        self.web.asked = self.watcher.asked_by

    def world(self):
        """Return the world of one invocation: each function remembers for itself what a site allows."""
        robots = Robots(self.base.http, self.stage.clock)
        return replace(self.base, robots=robots)

    def add(self, source_id, *, url, entries=(), links="", **fields):
        """Add a source and its publisher."""
        publisher = Publisher(url, links=links)
        self.web.publishers[url] = self.publishers[source_id] = publisher
        publisher.source_id = source_id
        if "headers" in fields.get("config", {}):
            self.trusted.add(urlsplit(url).hostname)
        if entries:
            publisher.say(type(publisher.says)(tuple(entries)))
        self.sources.add(a_source(source_id, url=url, next_fetch_at=self.stage.now, **fields))
        self.sources.rows.catch_up()
        self.watcher.added(source_id)
        return publisher

    def tick_at(self, moment):
        """Have the planners woken for a window; the second one is late."""
        for number in range(self.setting.planners):
            late = timedelta(milliseconds=20) * number
            self.stage.at(moment + late, "a tick", lambda: self.tick(moment))

    def _skew(self):
        return self.setting.skew * self.stage.random.randrange(2) if self.setting.skew else timedelta(0)

    def tick(self, window_end, *, skew=None):
        with self.stage.invocation("planner", skew=self._skew() if skew is None else skew) as ending:
            world = self.world()
            ending.result = plan.plan(window_end, world, SETTINGS, deadline=world.clock() + PLANNER_TIME)
        self._ended(ending)
        return ending

    def fetch_by_hand(self, source_id):
        """Send the message that an operator sends."""
        self.by_hand.append((self.stage.now, source_id))
        self.queue.send([Outgoing(FetchMessage(source_id=source_id, manual=True))])

    def view(self, source_id):
        """Note that somebody looks at a source, as the client does."""
        now = self.stage.now.replace(microsecond=0)
        views.note(source_id, self.sources, SETTINGS.defaults, now=now)
        row = self.sources.rows.get(source_id)
        if row and row.viewed_at == now:
            self.views.append((now, source_id))

    def _arrived(self, held):
        message_id = held.message_id
        self.stage.at(held.visible_at, f"{message_id} can be received", lambda: self.deliver(message_id))

    def deliver(self, message_id, *, skew=None):
        held = self.queue.take(message_id)
        if held is None:
            return
        if self.setting.duplicates and held.receives == 1 and self._may_double(held):
            for later in (DOUBLE_AFTER, LATE_DOUBLE_AFTER):
                self.double(held, later)
        self.work(held, skew=skew)

    def _may_double(self, held):
        """A double of a fetch by hand, or of a page, that meets the first at work becomes a new message.

        Were that one doubled too, and so on, it would never end; no queue is as bad as that.
        """
        message = parse_message(held.body, now=self.stage.now)
        if not (message.manual or message.content_hash):
            return True
        self.doubled[held.body] += 1
        asked = sum(name == message.source_id for _, name in self.by_hand)
        return self.doubled[held.body] <= (1 if message.content_hash else asked)

    def double(self, held, later):
        """Deliver a message once more, deleted or not."""
        self.stage.at(self.stage.now + later, f"{held.message_id} again", lambda: self.work(held))

    def work(self, held, *, skew=None):
        message = parse_message(held.body, now=self.stage.now + timedelta(days=1))
        name = f"fetcher {held.message_id}"
        fields = {
            "skew": self._skew() if skew is None else skew,
            "source_id": message.source_id,
            "message": message,
        }
        with self.stage.invocation(name, **fields) as ending:
            record = {"messageId": held.message_id, "body": held.body}
            if self.bug and self.bug.acknowledges_early:
                self.queue.delete(held.message_id)
            ending.result = batch.work_one(record, self.world(), SETTINGS)
        if ending.error is None:
            self.queue.delete(held.message_id)
        self._ended(ending)

    def _ended(self, ending):
        self.runs.append(ending)
        self.watcher.ended(ending)

    def close(self):
        """Say that nothing more comes, and judge the run."""
        self.settled = True
        self.violations = self.watcher.close()
        return self.violations
