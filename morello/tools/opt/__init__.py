"""Parts of ``morello-opt``: `session.py` is the parent, `worker.py` the child."""
