"""The command's first step: say in a sentence what is missing, if its own needs were not installed."""

import sys


def main() -> None:
    try:
        from wellspring_cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "localstack_client"):
            raise
        sys.exit(f"The command needs {error.name}, which is not installed. Run: pip install '.[cli]'")
    run()
