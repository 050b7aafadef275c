"""The whole stack, deployed with SAM on a local cloud of this test run's own."""

import socket

import pytest

from deployed import Deployed
from wellspring_cli import local_cloud


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cloud")


@pytest.fixture(scope="session")
def deployed(state_dir):
    with pytest.MonkeyPatch.context() as patch:
        # The emulator then refuses whatever the functions' policies do not allow.
        patch.setenv("AUTH", "true")
        yield from running(state_dir)


def running(state_dir):
    try:
        yield Deployed(local_cloud.up(state_dir, free_port(), say=lambda text: None))
    finally:
        local_cloud.down(state_dir)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
