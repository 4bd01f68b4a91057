"""The commands ``morello`` (also ``python -m morello``) and ``morello-opt``."""

import importlib
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run ``morello``."""
    return _run("morello.tools.morello")


def morello_opt() -> int:
    """Run ``morello-opt``."""
    return _run("morello.tools.morello_opt")


def _run(module: str) -> int:
    """Run a command; Ctrl-C may come while it is imported, too."""
    try:
        code: int = importlib.import_module(module).main()
        return code
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
