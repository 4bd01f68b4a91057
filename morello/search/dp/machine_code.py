"""LLVM IR text to functions of this process, for the inner loops of the search.

What the search compiles is its own code, for this machine alone; kernels, which are
checked and may be for another machine, go through `morello.jit`.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as lb
import numpy as np

WORD = ctypes.c_int64
POINTER = ctypes.c_void_p
_BYTE = ctypes.c_char


def load_engine(text: str, speed_level: int = 3) -> Any:
    """The engine that holds the code of a module of LLVM IR."""
    lb.initialize_native_target()
    lb.initialize_native_asmprinter()
    machine = lb.Target.from_default_triple().create_target_machine(
        cpu=lb.get_host_cpu_name(), opt=3, jit=True
    )
    module = lb.parse_assembly(text, context=lb.create_context())
    tuning = lb.create_pipeline_tuning_options(speed_level=speed_level)
    tuning.loop_vectorization = True
    builder = lb.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    engine = lb.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def native_function(engine: Any, name: str, result: Any, kinds: Sequence[Any]) -> Any:
    """A function of an engine, as ctypes calls it with Python's lock released.

    Args:
        result: the type of what it returns; None for nothing.
        kinds: the types of its arguments.
    """
    function = ctypes.CFUNCTYPE(result, *kinds)(engine.get_function_address(name))
    function.engine = engine  # type: ignore[attr-defined]  # it owns the code
    return function


def address(array: np.ndarray[Any, Any]) -> int:
    """Where the elements of a C-contiguous array start.

    Raises:
        ValueError: the array has gaps.
    """
    if not array.flags.c_contiguous:
        raise ValueError("machine code reads arrays without gaps")
    if array.size and array.flags.writeable:  # four times as fast as `array.ctypes`
        return ctypes.addressof(_BYTE.from_buffer(array))  # type: ignore[arg-type]
    return int(array.ctypes.data)
