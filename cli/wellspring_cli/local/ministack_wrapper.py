"""Runs MiniStack, saves its state every few seconds, and makes metrics of what the functions log.

MiniStack itself saves only when it is asked to end, so that a killed one would lose the whole run.
Started as a script by MiniStack's own interpreter, with the port and the state folder as arguments:
they are in the environment too, but the command line tells this local cloud from any other.
"""

from __future__ import annotations

import importlib
import logging
import runpy
import sys
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

METRICS = Path(__file__).with_name("ministack_metrics.py")
SAVE_SECONDS = 5.0

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


def main() -> None:
    """Run MiniStack in the foreground until SIGTERM."""
    ministack: Any = importlib.import_module("ministack.app")

    logs: Any = importlib.import_module("ministack.services.cloudwatch_logs")
    cloudwatch: Any = importlib.import_module("ministack.services.cloudwatch")

    # The module is run by its path: the folder of this script is not where this interpreter imports from.
    runpy.run_path(str(METRICS))["count_logged"](logs, cloudwatch.record_metric)
    sys.argv = ["ministack"]
    logging.getLogger("persistence").setLevel(logging.WARNING)
    one_at_a_time = threading.Lock()
    save_all, serve = ministack.save_all, ministack.app

    def save(services: dict[str, Callable[[], Any]]) -> None:
        with one_at_a_time:
            save_all(services)

    def keep_saving() -> None:
        pause = threading.Event()
        while not pause.wait(SAVE_SECONDS):
            save(ministack._build_persistence_save_dict())

    async def serve_and_save(scope: Message, receive: Any, send: Send) -> None:
        async def announce(message: Message) -> None:
            # Not before: the old state is loaded by then, so that nothing empty overwrites it.
            if message["type"] == "lifespan.startup.complete":
                threading.Thread(target=keep_saving, daemon=True, name="wellspring-save").start()
            await send(message)

        await serve(scope, receive, announce if scope["type"] == "lifespan" else send)

    ministack.save_all = save
    ministack.app = serve_and_save
    ministack.main()


if __name__ == "__main__":
    main()
