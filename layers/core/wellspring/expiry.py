"""Owns when a post that nobody processed has had its time. Pure."""

from datetime import datetime

from wellspring.intake import EXPIRY_MARGIN


def horizon(now: datetime) -> datetime:
    """Return the expiry of a post that reaches its maximum age now: DynamoDB takes it a margin later."""
    return now + EXPIRY_MARGIN
