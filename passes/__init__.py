"""The passes, one a file: see `base.py` for the interface."""
