"""Tests keep out of the user's home, and off all but one processor, and are for one
target whatever the machine is, unless they ask."""

import os

os.environ["MORELLO_DB"] = "none"
os.environ["MORELLO_THREADS"] = "1"
os.environ["MORELLO_TARGET"] = "avx2"
