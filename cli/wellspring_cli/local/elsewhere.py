"""Owns the emulator that somebody else runs: which one a state folder is bound to, and whether it answers."""

from __future__ import annotations

import json
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from wellspring import timestamps, urls
from wellspring.errors import FetchError
from wellspring_cli.errors import NoStack, WrongUse
from wellspring_cli.local import deployment, project

AWS_ITSELF = (".amazonaws.com", ".amazonaws.com.cn", ".aws")
HEALTH_SECONDS = 5


@dataclass(frozen=True)
class Elsewhere:
    """An emulator that is not ours; we only deploy there."""

    endpoint_url: str
    since: datetime | None = None
    """When the folder was bound to it."""


def bound(state_dir: Path) -> Elsewhere | None:
    """Return the emulator that a state folder is bound to."""
    try:
        record = json.loads(record_file(state_dir).read_text(encoding="utf-8"))
        return Elsewhere(checked(record["endpoint_url"]), timestamps.from_text(record["since"]))
    except (OSError, ValueError, KeyError, TypeError, WrongUse):
        return None


def bind(state_dir: Path, endpoint_url: str, *, now: datetime) -> Elsewhere:
    """Remember an emulator, so that later commands talk to it."""
    state_dir.mkdir(parents=True, exist_ok=True)
    record = {"endpoint_url": endpoint_url, "since": timestamps.to_text(now)}
    record_file(state_dir).write_text(json.dumps(record), encoding="utf-8")
    return Elsewhere(endpoint_url, timestamps.floor(now))


def forget(state_dir: Path) -> bool:
    """Unbind a state folder; what runs elsewhere goes on. False when it was not bound."""
    was_bound = record_file(state_dir).exists()
    record_file(state_dir).unlink(missing_ok=True)
    return was_bound


def record_file(state_dir: Path) -> Path:
    return state_dir / "elsewhere.json"


def checked(text: str) -> str:
    """Return the URL of an emulator as it is used. Raises WrongUse."""
    try:
        target = urls.target_of(text.strip())
        parts = urlsplit(text.strip())
    except (FetchError, ValueError):
        raise WrongUse(_no_url(text)) from None
    if target.path != "/" or parts.query or parts.fragment:
        raise WrongUse(_no_url(text))
    if target.host.endswith(AWS_ITSELF):
        raise WrongUse(f"{target.host} is AWS itself, where no local cloud is. To deploy to AWS: make deploy")
    # Buckets get names below "localhost", which do not resolve everywhere; below an address there are none.
    host = project.LOOPBACK if target.host == "localhost" else target.host
    shown = f"[{host}]" if ":" in host else host
    return f"{target.scheme}://{shown}:{target.port}"


def check(endpoint_url: str) -> None:
    """Make sure that something answers there as AWS does. Raises NoStack."""
    instead = "Start it there; or run MiniStack instead: wellspring local down, then wellspring local up"
    sts = deployment.client(endpoint_url, "sts", attempts=1, patience_seconds=HEALTH_SECONDS)
    try:
        sts.get_caller_identity()["Account"]
    except (ClientError, ResponseParserError, KeyError):
        raise NoStack(f"What answers at {endpoint_url} is no AWS emulator.") from None
    except BotoCoreError:
        raise NoStack(f"No emulator answers at {endpoint_url}. {instead}") from None


def is_ministack(endpoint_url: str) -> bool:
    """Say whether an emulator is a MiniStack, with that one's interpreter and that one's gaps."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with (
        suppress(OSError, ValueError),
        direct.open(f"{endpoint_url}/_ministack/health", timeout=HEALTH_SECONDS) as answer,
    ):
        return bool(answer.status == 200 and b'"services"' in answer.read(10_000))
    return False


def _no_url(text: str) -> str:
    what = repr(text) if text.isprintable() and "://" not in text else "That"
    return f"{what} is no URL of an emulator. Write it like http://127.0.0.1:4566"
