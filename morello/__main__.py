"""The command ``morello``, which is also ``python -m morello``."""

import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command; Ctrl-C may come while it is imported, too."""
    try:
        from morello.tools.morello import main as run

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
