"""Owns the check-up: what is examined, one after the other, from the settings here to the dead letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from wellspring import timestamps
from wellspring.aws.faults import told_as_unavailable
from wellspring.cadences import shown
from wellspring.errors import NotSignedIn, Unavailable
from wellspring_cli import overview, permissions
from wellspring_cli.checks import DEPLOY, OF_ITS_NUMBERS, OF_THE_STACK, Answer
from wellspring_cli.errors import CliError
from wellspring_cli.local.deployment import FINISHED
from wellspring_cli.stack import Stack
from wellspring_cli.target import Reach, Target

TARGET, CREDENTIALS, CLOCK, STACK, PERMISSIONS = "target", "credentials", "clock", "stack", "permissions"
WRONG_BY = timedelta(minutes=1)
SIGN_IN = "Sign in to AWS, or name a profile: --profile"


@dataclass(frozen=True, slots=True)
class Check:
    """A check that was made."""

    name: str
    ok: bool
    text: str


def run(target: Target) -> Iterator[Check]:
    """Make the checks, each as far as those before it allow."""
    try:
        reach = target.reach()
    except (CliError, BotoCoreError) as error:
        yield Check(TARGET, False, str(error))
        return
    yield Check(TARGET, True, f"{reach.place} ({reach.why})")
    identity, moment = _who(reach)
    yield _check(CREDENTIALS, identity)
    if moment:
        yield _check(CLOCK, clock(timestamps.now(), moment))
    if not reach.is_signed_in:
        return
    stack, answer = _stack(target, reach)
    yield _check(STACK, answer)
    if stack is None:
        return
    yield from _permissions(stack)
    for name, look in OF_THE_STACK.items():
        try:
            yield _check(name, look(stack))
        except Unavailable as error:
            yield Check(name, False, str(error))
    wanted = {part for part, _ in OF_ITS_NUMBERS.values()}
    found = overview.gather(stack, now=timestamps.now(), parts=wanted)
    for name, (part, judge) in OF_ITS_NUMBERS.items():
        yield Check(name, False, found.unread[part]) if part in found.unread else _check(name, judge(found))


def was_anything_asked(made: list[Check]) -> bool:
    """Say whether AWS told anything of the stack, or of the account."""
    return any(check.ok for check in made if check.name not in (TARGET, CLOCK))


def clock(now: datetime, told: datetime) -> Answer:
    """Compare this computer's clock with what AWS says the time is."""
    apart = now - told
    if abs(apart) <= WRONG_BY:
        return Answer(True, "this computer's is right")
    way = "ahead of" if apart > timedelta(0) else "behind"
    return Answer(
        False,
        f"This computer's is {shown(abs(apart))} {way} the one of AWS, which refuses late requests. Set it.",
    )


def _check(name: str, answer: Answer) -> Check:
    return Check(name, answer.ok, answer.text)


def _who(reach: Reach) -> tuple[Answer, datetime | None]:
    """Ask whose credentials these are; the answer, a refusal too, says what time it is there."""
    if not reach.is_signed_in:
        return Answer(False, f"There are no AWS credentials. {SIGN_IN}"), None
    headers: Mapping[str, str] = {}
    try:
        with told_as_unavailable("Asking whose credentials these are"):
            try:
                found = reach.client("sts").get_caller_identity()
            except ClientError as error:
                headers = _headers(error.response)
                raise
        headers = _headers(found)
        answer = Answer(True, f"account {found['Account']}, {found['Arn']}")
    except NotSignedIn as error:
        answer = Answer(False, f"{error} {SIGN_IN}")
    except Unavailable as error:
        answer = Answer(False, f"{error} Look at the network, the region and the endpoint.")
    return answer, _date(headers)


def _stack(target: Target, reach: Reach) -> tuple[Stack | None, Answer]:
    try:
        stack = target.find(reach)
    except (CliError, Unavailable) as error:
        return None, Answer(False, str(error))
    status = stack.found.status
    if status in FINISHED:
        return stack, Answer(True, f"{stack.name}, {status}")
    if status.endswith("_IN_PROGRESS"):
        return stack, Answer(False, f"{stack.name} is being deployed ({status}). Wait until that is done.")
    return stack, Answer(False, f"The last deploy of {stack.name} did not end well ({status}). {DEPLOY}")


def _permissions(stack: Stack) -> Iterator[Check]:
    try:
        missing = permissions.missing(stack)
    except Unavailable as error:
        yield Check(PERMISSIONS, False, str(error))
        return
    for right in missing:
        text = f"{right.action} on {right.resource} is not allowed; it is needed for: {right.commands}"
        yield Check(PERMISSIONS, False, text)
    if not missing:
        yield Check(PERMISSIONS, True, f"all {len(permissions.RIGHTS)} rights that the command uses")


def _headers(response: Any) -> Mapping[str, str]:
    headers: Mapping[str, str] = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return headers


def _date(headers: Mapping[str, str]) -> datetime | None:
    try:
        return parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError):
        return None
