"""The compiled functions, made once after installation and kept on disk.

What is kept is an object file for each function (`entries.py`), which LLVM loads in a
few milliseconds; numba is imported only to make one.
"""

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as lb
import numpy as np

from morello.processes.forks import defer_forks
from morello.processes.interrupts import interruptible
from morello.search.compiled.object_cache import CachedObject
from morello.search.compiled.parameters import FUNCTIONS, USUAL, Parameter
from morello.search.compiled.words import address


class Compiled:
    """The functions of `FUNCTIONS` as machine code, each from its first use on.

    They run without Python's lock.
    """

    def __init__(self) -> None:
        self._engines: list[Any] = []
        """Engines that own the code."""
        self._loading = threading.RLock()

    def __getattr__(self, name: str) -> Callable[..., int]:
        code = CachedObject(name).read()
        if code is None:  # an import that Ctrl-C ends would leave half of numba
            code = interruptible(lambda: self._code(name))
        with defer_forks(), self._loading:  # LLVM has locks, too
            engine = self._load(code)
        parameters = FUNCTIONS[name][1]
        function = _function(engine.get_function_address(name), parameters)
        self.__dict__[name] = function
        return function

    def _code(self, name: str) -> bytes:
        """The machine code of a function, made and kept if nobody has meanwhile."""
        module, parameters = FUNCTIONS[name]
        stored = CachedObject(name)
        with defer_forks(), self._loading:  # numba has locks, too
            code = stored.read()
            if code is None:
                from morello.search.compiled.entries import object_code

                code = object_code(module, name, parameters)
                stored.write(code)
        return code

    def prepare(self, names: tuple[str, ...] = USUAL) -> None:
        """Make what every search calls: some ten seconds after installation."""
        for name in names:
            getattr(self, name)

    def _load(self, code: bytes) -> Any:
        """An engine that owns an object file."""
        lb.initialize_native_target()
        lb.initialize_native_asmprinter()
        machine = lb.Target.from_default_triple().create_target_machine(jit=True)
        engine = lb.create_mcjit_compiler(lb.parse_assembly(""), machine, use_lmm=True)
        engine.add_object_file(lb.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self._engines.append(engine)
        return engine


@functools.cache
def compiled() -> Compiled:
    """The compiled functions."""
    return Compiled()


def is_compiled() -> bool:
    """Whether machine code of what every search calls is on disk already."""
    return all(CachedObject(name).read() is not None for name in USUAL)


def _function(entry: int, parameters: tuple[Parameter, ...]) -> Callable[..., int]:
    """A function of arrays and integers, of the address of its entry."""
    words = [ctypes.c_int64] * sum(parameter.words for parameter in parameters)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *words)(entry)
    forms = tuple((np.dtype(p.dtype), p.rank) for p in parameters)

    def function(*arguments: Any) -> int:
        passed: list[int] = []
        for argument, (dtype, rank) in zip(arguments, forms, strict=True):
            if rank:
                is_right = argument.dtype is dtype or argument.dtype == dtype
                if not is_right or argument.ndim != rank:
                    raise TypeError(f"an array of {dtype} with {rank} axes is needed")
                first = address(argument) if argument.size else 0
                passed += (first, *argument.shape)
            else:
                passed.append(argument)
        return int(call(*passed))

    return function
