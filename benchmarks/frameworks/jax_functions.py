"""Functions of JAX, and XLA held to AVX2.

XLA calls a library (YNNPACK) for products, which does not heed ``--xla_cpu_max_isa``:
on a core whose limit with AVX2 is 101 GFLOP/s it reaches 165. It asks the CPU once, and
keeps the answer; `hold` takes the later instructions out of it.
"""

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

XLA_FLAGS = (
    "--xla_cpu_max_isa=AVX2 --xla_cpu_multi_thread_eigen=false "
    "intra_op_parallelism_threads=1"
)
_KNOWN = "ynn::get_supported_arch_flags()::flags"
_UP_TO_FMA = 0x3FF
"""The bits of what comes before AVX-512 there, as rates of products show."""


def start() -> Any:
    """The package, of one thread and without AVX-512.

    Raises:
        ImportError: it is not installed.
    """
    os.environ["XLA_FLAGS"] = XLA_FLAGS
    import jax

    return jax


def hold(jax: Any) -> bool:
    """Keep XLA's library from AVX-512; whether that was possible."""
    import jaxlib

    jax.jit(lambda a: a @ a)(jax.numpy.ones((32, 32))).block_until_ready()
    library = Path(jaxlib.__file__).parent / "libjax_common.so"
    names = subprocess.run(
        ["nm", "-C", str(library)], capture_output=True, text=True, check=False
    )
    lines = [
        line
        for line in names.stdout.splitlines()
        if line.endswith(f" {_KNOWN}") and "guard" not in line
    ]
    places = [
        line.partition("-")[0]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(library.name)
    ]
    if len(lines) != 1 or not places:
        return False
    base = min(int(place, 16) for place in places)
    flags = ctypes.c_uint64.from_address(base + int(lines[0].split()[0], 16))
    flags.value &= _UP_TO_FMA
    jax.clear_caches()
    return True


def functions(jax: Any) -> dict[str, tuple[Any, tuple[tuple[int, ...], ...]]]:
    """Each function, and the shapes of its arguments."""
    jnp = jax.numpy

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("hqd,hkd->hqk", q, k) / 8
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)

    def mlp(x: Any, w: Any, b: Any, u: Any, c: Any) -> Any:
        return jax.nn.gelu(x @ w + b, approximate=False) @ u + c

    heads = (12, 197, 64)
    return {
        "attention": (attention, (heads, heads, heads)),
        "mlp": (mlp, ((197, 768), (768, 3072), (3072,), (3072, 768), (768,))),
        "mlp-small": (mlp, ((64, 128), (128, 512), (512,), (512, 128), (128,))),
    }
