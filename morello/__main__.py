"""``python -m morello`` is the command ``morello``."""

import sys

from morello.tools.morello import main

if __name__ == "__main__":
    sys.exit(main())
