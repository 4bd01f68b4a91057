"""The passes, one a file: see `base.py` for what a pass is."""
