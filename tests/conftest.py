"""Tests keep out of the user's home, and off all but one processor, unless they ask."""

import os

os.environ["MORELLO_DB"] = "none"
os.environ["MORELLO_THREADS"] = "1"
