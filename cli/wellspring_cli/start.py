"""The command's first step: end well when its own needs were not installed, or at once with Ctrl-C."""

import os
import signal
import sys

INTERRUPTED = 130


def main() -> None:
    # Until all is imported nothing was begun, and Python would tell of Ctrl-C in a traceback.
    usual = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        from wellspring_cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "localstack_client"):
            raise
        sys.exit(f"The command needs {error.name}, which is not installed. Run: pip install '.[cli]'")
    signal.signal(signal.SIGINT, usual)
    run()
