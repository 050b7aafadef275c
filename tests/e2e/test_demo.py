"""The newcomer's command, as `make run-once` runs it."""

import socket
import subprocess
import sys
from pathlib import Path

WELLSPRING = Path(sys.executable).with_name("wellspring")


def test_the_demo_ends_with_posts_listed_and_nothing_left_running(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [WELLSPRING, "demo", "--once", "--port", str(port), "--state-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The Wellspring Courier" in done.stdout or "demo-news" in done.stdout
    assert "It works." in done.stdout
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the local cloud is stopped"
