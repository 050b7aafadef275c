"""Owns what each kind of failure is worth: one table, keyed by the class of the error."""

from dataclasses import dataclass
from datetime import timedelta

from wellspring.errors import ErrorClass


@dataclass(frozen=True, slots=True)
class Retry:
    """So many attempts, that far apart; then the circuit is open for a while."""

    attempts: int
    wait: timedelta
    circuit: timedelta


def _retry(attempts: int, wait_minutes: int, circuit_minutes: int) -> Retry:
    return Retry(attempts, timedelta(minutes=wait_minutes), timedelta(minutes=circuit_minutes))


_CONNECTION = _retry(3, 5, 60)
_DOCUMENT = _retry(1, 30, 120)
_REFUSED = _retry(1, 60, 240)

OTHERS = _retry(1, 30, 120)
RETRIES = {
    ErrorClass.TIMEOUT: _retry(2, 2, 60),
    ErrorClass.DNS: _CONNECTION,
    ErrorClass.CONNECT: _CONNECTION,
    ErrorClass.TLS: _CONNECTION,
    ErrorClass.RATE_LIMITED: _retry(2, 15, 90),
    ErrorClass.HTTP_5XX: _retry(2, 10, 90),
    ErrorClass.HTTP_4XX: _retry(1, 45, 120),
    ErrorClass.NOT_FEED: _DOCUMENT,
    ErrorClass.EMPTY: _DOCUMENT,
    ErrorClass.PARSE: _DOCUMENT,
    ErrorClass.PARSE_TIMEOUT: _DOCUMENT,
    ErrorClass.TRUNCATED: _DOCUMENT,
    ErrorClass.BLOCKED: _REFUSED,
    ErrorClass.AUTHENTICATION: _REFUSED,
}


def retry(error_class: ErrorClass) -> Retry:
    return RETRIES.get(error_class, OTHERS)


NETWORK = frozenset({ErrorClass.DNS, ErrorClass.CONNECT, ErrorClass.TLS, ErrorClass.TIMEOUT})
"""Failures that our own network could be to blame for."""

HOST_WIDE = NETWORK | {ErrorClass.HTTP_5XX, ErrorClass.RATE_LIMITED}
"""Failures that all sources of a host are likely to share."""
