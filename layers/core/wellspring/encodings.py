"""Owns unpacking what a server packed, piece by piece, never more than asked for. Pure."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import brotli

from wellspring.errors import ErrorClass, FetchError

ACCEPTED = "gzip, deflate, br"
PIECE = 65_536


class Unpacker(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data unpacks to, in pieces."""

    def is_complete(self) -> bool:
        """Say whether the packed data has come to its end."""


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self._bits = window_bits
        self._made = zlib.decompressobj(window_bits)
        self._held = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        while data:
            if self._made.eof:
                # Some servers pack in several members; anything else behind the end is rubbish.
                if self._bits < zlib.MAX_WBITS or not data.startswith(b"\x1f\x8b"):
                    self._held = data if data == b"\x1f" else b""
                    return
                self._made = zlib.decompressobj(self._bits)
            piece = self._made.decompress(data, PIECE)
            yield piece
            data = self._made.unconsumed_tail or self._made.unused_data
            while len(piece) == PIECE and not data and not self._made.eof:
                # The input is used up, but a full piece may have left output behind.
                piece = self._made.decompress(b"", PIECE)
                yield piece

    def is_complete(self) -> bool:
        return self._made.eof


class _Deflate:
    """Some servers send bare deflate data under that name, most send it in a zlib wrapping."""

    def __init__(self) -> None:
        self._inner: _Zlib | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inner is None and data:
            wrapped = data[0] & 0x0F == 8
            self._inner = _Zlib(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        if self._inner:
            yield from self._inner.feed(data)

    def is_complete(self) -> bool:
        return self._inner is None or self._inner.is_complete()


class _Brotli:
    def __init__(self) -> None:
        self._made = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._made.process(data, output_buffer_limit=PIECE)
        while not self._made.can_accept_more_data():
            yield self._made.process(b"", output_buffer_limit=PIECE)

    def is_complete(self) -> bool:
        return bool(self._made.is_finished())


UNPACKERS: dict[str, Callable[[], Unpacker]] = {
    "gzip": lambda: _Zlib(16 + zlib.MAX_WBITS),
    "x-gzip": lambda: _Zlib(16 + zlib.MAX_WBITS),
    "deflate": _Deflate,
    "br": _Brotli,
}


def unpacked(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the body as it was before the server packed it."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        yield from chunks
        return
    if name not in UNPACKERS:
        raise FetchError(ErrorClass.BAD_HTTP, "The body is packed in a way that nobody asked for.")
    unpacker, began = UNPACKERS[name](), False
    try:
        for chunk in chunks:
            began = began or bool(chunk)
            yield from unpacker.feed(chunk)
    except (zlib.error, brotli.error):
        raise FetchError(ErrorClass.BAD_HTTP, "The packed body is spoilt.") from None
    if began and not unpacker.is_complete():
        raise FetchError(ErrorClass.TRUNCATED, "The packed body was cut off.")
