"""The built layer brings everything that the functions import."""

import subprocess
import sys

MODULES = ("wiring", "telemetry", "batch", "plan", "sources.rss")
IMPORTS = "; ".join(f"import wellspring.{module}" for module in MODULES)


def test_the_functions_need_nothing_but_the_layer(deployed, state_dir):
    """The local cloud's own packages could hide a missing one, so this interpreter gets no others."""
    layer = state_dir / "build" / "CoreLayer" / "python"
    code = f"import sys; sys.path.insert(0, {str(layer)!r}); {IMPORTS}; print(wellspring.__file__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(layer))
