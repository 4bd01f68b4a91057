"""Work of the subcommands of ``morello``: `commands.py` says which there are."""
