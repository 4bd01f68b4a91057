"""The hot loops of the search, as numba functions: one file an idea.

Read `parameters.py`, the list of what the rest of the search calls, then `load.py`.
numba makes an object file of each function once (`entries.py`), which is kept on disk
(`object_cache.py`): after that nothing imports numba any more.
"""

from morello.search.compiled.load import Compiled, compiled, is_compiled

__all__ = ["Compiled", "compiled", "is_compiled"]
