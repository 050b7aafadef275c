"""Owns parsing at arm's length: in a process of its own that is ended when it takes too long.

A thread cannot be ended, and a regular expression that has run wild holds every other thread
of its process. The process is kept for the next document; a new one costs the parser's import.
"""

import json
import os
import struct
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from select import select
from time import monotonic
from typing import Any

from wellspring.errors import ErrorClass, FetchError
from wellspring.hints import DocumentHints
from wellspring.http import Reply
from wellspring.model import Entry
from wellspring.sources import KINDS, Document, Kind

START_SECONDS = 20.0
MEMORY_BYTES = 400_000_000
CODE = "from wellspring.sandbox import serve; serve()"
_SIZE = struct.Struct(">Q")


class Sandbox:
    """Parses documents one after the other; the deadline counts for each by itself."""

    def __init__(self, limit: timedelta) -> None:
        self._limit = limit.total_seconds()
        self._process: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = threading.Lock()

    def parse(self, kind: str, reply: Reply) -> Document:
        """Return what the parser of this kind makes of the reply. Raises FetchError."""
        with self._one_at_a_time:
            process = self._running()
            try:
                _write(process, kind, reply)
                answer = _read(process, monotonic() + self._limit)
            except TimeoutError:
                self.close()
                told = f"The document could not be parsed within {self._limit:g} s."
                raise FetchError(ErrorClass.PARSE_TIMEOUT, told, http_status=reply.status) from None
            except (EOFError, OSError):
                self.close()
                told = "The parser broke down over this document."
                raise FetchError(ErrorClass.PARSE, told, http_status=reply.status) from None
        if "error" in answer:
            raise FetchError(ErrorClass(answer["error"]), answer["told"], http_status=reply.status)
        return _unpacked(answer)

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe:
                    pipe.close()
            self._process.wait()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-c", CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Nothing of our own environment: a parser needs no credentials.
                env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ.get("PATH", "")},
            )
            try:
                _read(self._process, monotonic() + START_SECONDS)
            except (TimeoutError, EOFError):
                self.close()
                raise FetchError(ErrorClass.INTERNAL, "The parser could not be started.") from None
        return self._process


def serve() -> None:
    """Be the process: read a document, write what it holds, until nobody asks any more."""
    import resource

    from wellspring.sources import rss  # noqa: F401 - imported before the clock runs

    out, asked = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # Whatever a parser prints must not mix with the answers.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    answer: object = "ready"
    while True:
        data = json.dumps(answer).encode()
        out.write(_SIZE.pack(len(data)) + data)
        out.flush()
        head = asked.readline()
        if not head:
            return
        fields = json.loads(head)
        body = asked.read(fields.pop("size"))
        kind = fields.pop("kind")
        answer = _answer(KINDS[kind], Reply(body=body, **fields))


def _answer(kind: Kind, reply: Reply) -> object:
    try:
        return _packed(kind.parse(reply))
    except FetchError as error:
        return {"error": error.error_class.value, "told": str(error)}
    except MemoryError:
        return {"error": ErrorClass.PARSE.value, "told": "The document needs too much memory."}
    except RecursionError:
        return {"error": ErrorClass.PARSE.value, "told": "The document is nested too deeply."}
    except Exception as error:
        return {"error": ErrorClass.INTERNAL.value, "told": f"The parser failed: {type(error).__name__}."}


def _packed(document: Document) -> object:
    """Return a document as JSON: what comes from the process is data, and can be nothing else."""
    entries = [
        [
            one.entry_id,
            one.title,
            one.url,
            one.body,
            one.author,
            one.published_at and one.published_at.timestamp(),
        ]
        for one in document.entries
    ]
    stay_away = document.hints.stay_away
    return {
        "entries": entries,
        "parser": document.parser,
        "title": document.title,
        "stay_away": stay_away and stay_away.total_seconds(),
        "skip": [document.hints.skip_hours, document.hints.skip_days],
        "cut": document.cut,
        "bookmark": dict(document.bookmark),
    }


def _unpacked(answer: Any) -> Document:
    return Document(
        entries=tuple(
            Entry(
                entry_id=entry_id,
                title=title,
                url=url,
                body=body,
                author=author,
                published_at=None if at is None else datetime.fromtimestamp(at, UTC),
            )
            for entry_id, title, url, body, author, at in answer["entries"]
        ),
        parser=answer["parser"],
        title=answer["title"],
        hints=DocumentHints(
            stay_away=timedelta(seconds=answer["stay_away"]) if answer["stay_away"] else None,
            skip_hours=answer["skip"][0],
            skip_days=answer["skip"][1],
        ),
        cut=answer["cut"],
        bookmark=answer["bookmark"],
    )


def _write(process: subprocess.Popen[bytes], kind: str, reply: Reply) -> None:
    assert process.stdin
    kept = {name: reply.headers[name] for name in ("content-type",) if name in reply.headers}
    head = {"kind": kind, "url": reply.url, "status": reply.status, "headers": kept, "size": len(reply.body)}
    process.stdin.write(json.dumps(head).encode() + b"\n" + reply.body)
    process.stdin.flush()


def _read(process: subprocess.Popen[bytes], deadline: float) -> Any:
    assert process.stdout
    size = _SIZE.unpack(_exactly(process.stdout.fileno(), _SIZE.size, deadline))[0]
    return json.loads(_exactly(process.stdout.fileno(), size, deadline))


def _exactly(pipe: int, count: int, deadline: float) -> bytes:
    found = bytearray()
    while len(found) < count:
        ready, _, _ = select([pipe], [], [], max(0.0, deadline - monotonic()))
        if not ready:
            raise TimeoutError
        chunk = os.read(pipe, min(count - len(found), 1 << 20))
        if not chunk:
            raise EOFError
        found += chunk
    return bytes(found)
