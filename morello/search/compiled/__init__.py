"""The hot loops of the search, as numba functions: one file an idea.

Nothing of numba is imported before `compiled` is called: a lookup in a database needs
none of it. Machine code is kept on disk by numba, beside the sources or, where these
cannot be written, in the cache folder of the user (``NUMBA_CACHE_DIR``).
"""

from morello.search.compiled.load import Compiled, compiled, is_compiled

__all__ = ["Compiled", "compiled", "is_compiled"]
