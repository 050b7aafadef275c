"""Reads from the local stack what its functions did since the demo began."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from wellspring import timestamps
from wellspring.aws import items
from wellspring.aws.posts import WINDOW
from wellspring_cli.demo.view import Attempt, Planned, StoredPost, Summary
from wellspring_cli.local.deployment import LocalStack


class Watch:
    """What the fetchers did with these sources since a moment, read a little further at each look."""

    def __init__(self, stack: LocalStack, source_ids: Sequence[str], since: datetime) -> None:
        self.source_ids = tuple(source_ids)
        self.attempts: list[Attempt] = []
        self._dynamodb = stack.client("dynamodb")
        self._posts, self._logs = stack.outputs["PostsTable"], stack.outputs["FetchLogsTable"]
        self._seen = dict.fromkeys(self.source_ids, since)
        self._cloudwatch, self._planner_log = stack.client("logs"), stack.outputs["PlannerLogGroup"]
        self._planned_since = _milliseconds(since)

    def look_at_planner(self) -> list[Planned]:
        """Return the planner's runs since the last look, from its log."""
        pages = self._cloudwatch.get_paginator("filter_log_events").paginate(
            logGroupName=self._planner_log, startTime=self._planned_since
        )
        events = [event for page in pages for event in page["events"]]
        # All lines of a run come at once, at its end.
        self._planned_since = max((event["timestamp"] + 1 for event in events), default=self._planned_since)
        return [run for event in events if (run := read_planned(event["message"], event["timestamp"]))]

    def look(self) -> list[tuple[Attempt, list[StoredPost]]]:
        """Return the attempts that ended since the last look, oldest first, each with what it stored."""
        found = []
        for source_id, seen in self._seen.items():
            rows = self._query(
                self._logs,
                "source_id = :source AND started_at > :seen",
                {":source": source_id, ":seen": timestamps.to_text(seen)},
            )
            found += [_attempt(row) for row in rows]
        found.sort(key=lambda attempt: attempt.started_at)
        for attempt in found:
            self._seen[attempt.source_id] = attempt.started_at
        self.attempts += found
        return [(attempt, self._stored_by(attempt)) for attempt in found]

    def has_posts(self) -> bool:
        """Say whether any of the sources has a stored post, of this run or of an earlier one."""
        return any(
            row["content_hash"] != WINDOW
            for source_id in self.source_ids
            for row in self._query(
                self._posts, "source_id = :source", {":source": source_id}, PaginationConfig={"MaxItems": 2}
            )
        )

    def summaries(self) -> list[Summary]:
        """Return how each source stands."""
        return [self._summary(source_id) for source_id in self.source_ids]

    def _summary(self, source_id: str) -> Summary:
        rows = self._query(self._posts, "source_id = :source", {":source": source_id})
        posts = [_post(row) for row in rows if row["content_hash"] != WINDOW]
        return Summary(
            source_id,
            len(posts),
            max(posts, key=lambda post: post.published_at or post.fetched_at, default=None),
            next((attempt for attempt in reversed(self.attempts) if attempt.source_id == source_id), None),
        )

    def _stored_by(self, attempt: Attempt) -> list[StoredPost]:
        """Return the posts of an attempt, oldest first: they carry the time when it started."""
        if not attempt.created + attempt.updated:
            return []
        rows = self._query(
            self._posts,
            "source_id = :source",
            {":source": attempt.source_id, ":fetched": timestamps.to_text(attempt.started_at)},
            FilterExpression="fetched_at = :fetched",
        )
        posts = [_post(row) for row in rows if row["content_hash"] != WINDOW]
        return sorted(posts, key=lambda post: post.published_at or post.fetched_at)

    def _query(
        self, table: str, condition: str, values: dict[str, Any], **more: object
    ) -> list[dict[str, Any]]:
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=table,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=items.encode(values),
            **more,
        )
        return [items.decode(item) for page in pages for item in page["Items"]]


def read_planned(line: str, milliseconds: int) -> Planned | None:
    """Return what a line of the planner's log says; None when it is another line."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict) or told.get("message") != "planned":
        return None
    return Planned(
        at=datetime.fromtimestamp(milliseconds / 1000, UTC),
        due=told.get("due", 0),
        enqueued=told.get("enqueued", 0),
        skipped=told.get("skipped", {}),
        trouble=told.get("busy") or told.get("halted"),
    )


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _attempt(row: dict[str, Any]) -> Attempt:
    return Attempt(
        source_id=row["source_id"],
        started_at=timestamps.from_text(row["started_at"]),
        status=row["status"],
        http_status=row.get("http_status"),
        created=row.get("created", 0),
        updated=row.get("updated", 0),
        unchanged=row.get("unchanged", 0),
        filtered=row.get("filtered", {}),
        error_message=row.get("error_message"),
        next_fetch_at=_moment(row.get("next_fetch_at")),
    )


def _post(row: dict[str, Any]) -> StoredPost:
    return StoredPost(
        source_id=row["source_id"],
        title=row.get("title", ""),
        fetched_at=timestamps.from_text(row["fetched_at"]),
        published_at=_moment(row.get("published_at")),
    )


def _moment(text: str | None) -> datetime | None:
    return timestamps.from_text(text) if text else None
