"""Tests keep out of the user's home: no database but where a test asks for one."""

import os

os.environ["MORELLO_DB"] = "none"
