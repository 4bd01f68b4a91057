"""Kernels in JAX programs: `call` makes a function of JAX arrays of a kernel, and
`compile` one of a function of JAX.

`call.py` is the entry point: it checks shapes while a program is traced, and registers
the kernel with XLA. `handler.py` has the function that XLA calls, in the binary
interface of XLA's foreign functions; neither a compiler nor JAX's headers are needed.
`function.py` traces functions, and gives them their derivatives.

Invariant: what was registered is never freed, since XLA keeps no count of who calls it.
"""

try:
    import jax  # noqa: F401 (to say at once what is missing)
except ImportError as error:
    raise ImportError(
        "morello.jax needs the package jax: pip install 'morello[jax]'"
    ) from error

from morello.jax.call import call, target_name
from morello.jax.function import compile

__all__ = ["call", "compile", "target_name"]
