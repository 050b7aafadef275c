"""The whole stack, deployed with SAM on a local cloud of this test run's own."""

import pytest

from command import Command
from deployed import Deployed
from local_port import free_port
from wellspring_cli.local import cloud
from x_server import XServer


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cloud")


@pytest.fixture(scope="session")
def x():
    """The X API of the stack, which is told about it when it is deployed."""
    with XServer() as server:
        yield server


@pytest.fixture(scope="session")
def deployed(state_dir, x):
    with pytest.MonkeyPatch.context() as patch:
        # The emulator then refuses whatever the functions' policies do not allow.
        patch.setenv("AUTH", "true")
        yield from running(state_dir, {"XApiUrl": x.url})


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A stack of the module's own, in which nothing has happened yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTH", "true")
        yield from running(tmp_path_factory.mktemp("fresh"), {})


def running(state_dir, parameters):
    try:
        stack = cloud.up(state_dir, free_port(), say=lambda text: None, parameters=parameters)
        yield Deployed(stack)
    finally:
        cloud.down(state_dir)


@pytest.fixture
def operator(deployed, state_dir, monkeypatch, capsys):
    """The command, beside the running local cloud."""
    return Command(monkeypatch, capsys, "--state-dir", str(state_dir))
