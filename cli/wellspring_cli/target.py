"""Owns which stack a command talks to: the options that name it, and how it is found."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, get_type_hints
from urllib.parse import urlsplit

import boto3
import typer
from botocore.config import Config
from botocore.exceptions import BotoCoreError, InvalidRegionError, ProfileNotFound
from botocore.utils import is_valid_endpoint_url, validate_region_name

from wellspring.aws import stacks
from wellspring.errors import InvalidInput
from wellspring_cli.errors import NoStack, WrongUse
from wellspring_cli.local import cloud, deployment, project
from wellspring_cli.stack import Stack

PANEL = "Which stack (the local cloud, if it runs and nothing else is named)"
PROFILE, ENDPOINT, STACK = "AWS_PROFILE", "AWS_ENDPOINT_URL", "WELLSPRING_STACK"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
AWS = Config(
    connect_timeout=5,
    read_timeout=60,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=20,
)
START = "Start the local cloud (wellspring local up), or name a stack on AWS: --profile, --region, --stack."
LIKE = "one is written like http://127.0.0.1:4566."
UNSIGNED = f"No local cloud is running, and there are no AWS credentials. {START}"


@dataclass(frozen=True, slots=True)
class Reach:
    """AWS, or what plays it, as a command reaches it: with these clients, there, and for that reason."""

    client: Callable[[str], Any]
    place: str
    region: str
    why: str
    is_signed_in: bool = True
    """Whether there are credentials at all."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a person said of the stack that is meant."""

    stack: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    state_dir: Path = project.STATE_DIR

    @property
    def name(self) -> str:
        return self.stack or os.environ.get(STACK) or deployment.STACK

    def open(self) -> Stack:
        """Find the stack. Raises NoStack with what to do."""
        reach = self.reach()
        if not reach.is_signed_in:
            raise NoStack(UNSIGNED)
        return self.find(reach)

    def reach(self) -> Reach:
        """Find out where the stack is looked for, without asking there. Raises NoStack."""
        profile = self.profile or os.environ.get(PROFILE)
        endpoint_url = self.endpoint_url or os.environ.get(ENDPOINT)
        if endpoint_url:
            _check_endpoint(endpoint_url)
        why = self._why()
        if not why and (running := cloud.running(self.state_dir)):
            url = running.endpoint_url
            why = "it runs, and nothing else is named"
            return Reach(_local_client(url), f"the local cloud at {url}", project.REGION, why)
        if not why:
            self._check_no_local_cloud_is_meant()
        session = _session(profile, self.region)
        region = session.region_name or (project.REGION if endpoint_url else None)
        if region is None:
            raise NoStack(f"No local cloud is running, and no AWS region is configured. {START}")
        try:
            validate_region_name(region)
        except InvalidRegionError:
            raise NoStack(f"{region!r} is no AWS region; one is written like eu-west-1.") from None
        if _is_this_computer(endpoint_url) and session.get_credentials() is None:
            session = boto3.Session(*("test", "test"), region_name=region)
        place = f"{endpoint_url}, {region}" if endpoint_url else f"AWS, {region}"
        place += f", profile {profile}" if profile else ""

        def client(service: str) -> Any:
            return session.client(service, endpoint_url=endpoint_url, region_name=region, config=AWS)  # type: ignore[call-overload]

        why = why or f"no local cloud runs in {self.state_dir}"
        return Reach(client, place, region, why, is_signed_in=session.get_credentials() is not None)

    def _check_no_local_cloud_is_meant(self) -> None:
        """Raise NoStack where AWS would be asked although a local cloud is what the person has in mind."""
        named = self.state_dir != project.STATE_DIR
        if named or cloud.broke_off(self.state_dir):
            what = f"No local cloud runs in {self.state_dir}" if named else "The local cloud broke off"
            again = f" --state-dir {self.state_dir}" if named else ""
            raise NoStack(f"{what}. Start it: wellspring local up{again}. To talk to AWS, say --region NAME.")

    def find(self, reach: Reach) -> Stack:
        """Look for the stack there. Raises NoStack with what to do."""
        try:
            found = stacks.find(reach.client("cloudformation"), self.name)
        except InvalidInput as error:
            raise NoStack(f"{error} (Asked: {reach.place}.)") from None
        return Stack(self.name, reach.place, reach.region, reach.client, found)

    def _why(self) -> str:
        """Say what of all that was named leads away from the local cloud."""
        named = (
            (self.profile, "--profile"),
            (not self.profile and os.environ.get(PROFILE), PROFILE),
            (self.endpoint_url, "--endpoint-url"),
            (not self.endpoint_url and os.environ.get(ENDPOINT), ENDPOINT),
            (self.region, "--region"),
        )
        said = [name for value, name in named if value]
        return f"{' and '.join(said)} {'says' if len(said) == 1 else 'say'} so" if said else ""


OPTIONS: dict[str, Any] = {
    "stack": Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=PANEL, help=f"Its name, else {STACK}, else wellspring."),
    ],
    "profile": Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=PANEL, help=f"An AWS profile, else {PROFILE}."),
    ],
    "region": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=PANEL, help="An AWS region, else AWS_REGION or the profile's."
        ),
    ],
    "endpoint_url": Annotated[
        str | None,
        typer.Option(metavar="URL", rich_help_panel=PANEL, help=f"Where AWS is played, else {ENDPOINT}."),
    ],
    "state_dir": Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            rich_help_panel=PANEL,
            show_default=False,
            help="Where the local cloud keeps its state.",
        ),
    ],
}


def with_target(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a stack; it gets them as its first argument."""
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "target"
    ]
    defaults = {field.name: field.default for field in fields(Target)}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
        for name, hint in OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        named = {name: given.pop(name) for name in OPTIONS}
        if empty := [name for name, value in named.items() if value == ""]:
            # A variable that a script forgot to set would lead to another stack than the one that was meant.
            raise WrongUse(f"--{empty[0].replace('_', '-')} is empty. Name one, or leave the option out.")
        command(Target(**named), **given)

    run.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
    return run


def _session(profile: str | None, region: str | None) -> boto3.Session:
    try:
        return boto3.Session(profile_name=profile, region_name=region)
    except ProfileNotFound:
        names = ", ".join(sorted(boto3.Session().available_profiles)) if not os.environ.get(PROFILE) else ""
        known = f" There are: {names}." if names else ""
        raise NoStack(f"There is no AWS profile {profile!r}.{known}") from None
    except BotoCoreError as error:
        raise NoStack(f"The AWS settings of this computer cannot be used: {error}") from None


def _check_endpoint(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and is_valid_endpoint_url(url)
    except ValueError:
        raise WrongUse(f"That is no address of AWS; {LIKE}") from None
    if "@" in url or parts.query or parts.fragment:
        # It is named in every answer, and may not hold a secret.
        raise WrongUse(f"The address of AWS has a user, a password or a query in it; {LIKE}")
    if not good:
        raise WrongUse(f"{url!r} is no address of AWS; {LIKE}")


def _local_client(endpoint_url: str) -> Callable[[str], Any]:
    return functools.partial(deployment.client, endpoint_url)


def _is_this_computer(endpoint_url: str | None) -> bool:
    try:
        host = urlsplit(endpoint_url or "").hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
