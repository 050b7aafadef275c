"""Owns the names of the invariants, with which every violation begins."""

POSTS, VALIDATORS, SCHEDULE, REQUESTS, FAILURES, LOGS, SECRETS, MESSAGES, PLANNERS, EDITS, BUGS = (
    "posts",
    "validators and window",
    "schedule",
    "requests",
    "failure counters",
    "fetch logs",
    "addresses and secrets",
    "messages",
    "planners",
    "edits",
    "no bug",
)
