"""Owns giving a lease back when AWS fails us, so that it does not look like the source's crash."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from wellspring.errors import Unavailable
from wellspring.model import Source
from wellspring.ports import World


@contextmanager
def given_back_on_outage(source: Source, token: str, world: World) -> Iterator[None]:
    """`source` is as it was before its lease was taken."""
    try:
        yield
    except Unavailable:
        earlier = replace(source.lease, token=None, until=None) if source.lease else None
        with suppress(Unavailable):
            world.sources.release(source.source_id, token, earlier)
        raise
