"""`wellspring watch`: posts as they are stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer

from wellspring import catalog, timestamps
from wellspring.aws import streams
from wellspring.aws.post_stream import new_posts
from wellspring.aws.streams import Stream
from wellspring.client import Post
from wellspring.errors import Denied, NotSignedIn, Unavailable
from wellspring.ports import Sources
from wellspring_cli import output, post_rows
from wellspring_cli.commands.posts import Source
from wellspring_cli.errors import NoStack
from wellspring_cli.output import note, say
from wellspring_cli.target import Target, with_target

PAUSE, SHORT_PAUSE = 1.0, 0.2
PATIENCE = 60.0
"""So long AWS may not answer before the watch gives up."""


@with_target
def watch(
    target: Target,
    source: Source = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line, for programs.")] = False,
) -> None:
    """Show posts as they are stored, each once, until Ctrl-C.

    wellspring watch
    wellspring watch --source example.org
    wellspring watch --json | jq -r .title
    """
    stack = target.open()
    source_id = catalog.find(source, stack.sources).source_id if source is not None else None
    arn = streams.arn_of(stack.dynamodb, stack.settings.posts_table)
    if arn is None:
        raise NoStack(
            f"The posts of {stack.name} have no stream to watch: somebody switched it off, or the stack is "
            "old. Deploy it again (make deploy)."
        )
    names = Names(stack.sources)

    def show(post: Post) -> None:
        if source_id not in (None, post.source_id):
            return
        if as_json:
            output.print_json_line(post_rows.fields(post))
        else:
            say(post_rows.arrival(post, names.of(post.source_id)))

    try:
        stream = Stream(stack.client("dynamodbstreams"), arn, now=timestamps.now())
        if not as_json:
            whose = f"{output.printable(source_id)}, in {stack.place}" if source_id else stack.place
            say(f"Watching the posts of {whose}. Ctrl-C ends it.")
        follow(stream, show)
    except KeyboardInterrupt:
        raise typer.Exit from None


class Names:
    """What sources are called; each is looked up once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._names: dict[str, str] = {}

    def of(self, source_id: str) -> str:
        if source_id not in self._names:
            try:
                found = self._sources.read([source_id])
            except Unavailable:
                return ""
            self._names[source_id] = next((source.title or source.host for source in found), "")
        return self._names[source_id]


def follow(
    stream: Stream,
    show: Callable[[Post], None],
    *,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Show what arrives; when AWS does not answer for a while, go on where it stopped."""
    silent_since: float | None = None
    while True:
        busy = False
        try:
            for post in new_posts(stream.read()):
                busy = True
                show(post)
            silent_since = None
        except (Denied, NotSignedIn):
            raise
        except Unavailable as error:
            if silent_since is None:
                silent_since = clock()
                note(f"{error} It is tried again; what arrives meanwhile is shown then.")
            elif clock() - silent_since > PATIENCE:
                raise
        pause(SHORT_PAUSE if busy else PAUSE)
