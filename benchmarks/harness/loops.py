"""Back-to-back calls of a native function, without Python between them.

`NativeLoop` compiles a loop for the function's signature. So a product of a few
microseconds is timed as a C program would call it, the same for every library.
"""

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as lb


@dataclasses.dataclass(frozen=True)
class Constant:
    """An argument that is the same in every call.

    Args:
        type: as LLVM writes it: ``i8``, ``i32``, ``i64`` or ``float``.
        value: a float must be exact in few digits.
    """

    type: str
    value: float

    def __str__(self) -> str:
        if self.type == "float":
            return f"float {float(self.value):e}"
        extend = " signext" if self.type == "i8" else ""
        return f"{self.type}{extend} {int(self.value)}"


@dataclasses.dataclass(frozen=True)
class Pointer:
    """An argument that points to memory.

    Args:
        address: for the first product of a batch.
        step: bytes to that of the next.
    """

    address: int
    step: int = 0


Argument = Constant | Pointer


def int32(value: int) -> Constant:
    """A C ``int``."""
    return Constant("i32", value)


def int64(value: int) -> Constant:
    """A C ``long``."""
    return Constant("i64", value)


def float32(value: float) -> Constant:
    """A C ``float``."""
    return Constant("float", value)


class NativeLoop:
    """A function with its arguments, called ``batch`` times for each call of this.

    Args:
        function: address of the function; what it returns is not looked at.
        arguments: in order.
        batch: how many products a call computes; pointers step from one to the next.
    """

    def __init__(
        self, function: int, arguments: Sequence[Argument], batch: int = 1
    ) -> None:
        pointers = [a.address for a in arguments if isinstance(a, Pointer)]
        self._table = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
        self._function = function
        self._engine = _compile(_text(arguments, batch))
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self._run = kind(self._engine.get_function_address("repeat"))

    def __call__(self, calls: int) -> None:
        """Run it ``calls`` times, at least once."""
        self._run(calls, self._function, ctypes.addressof(self._table))


def _text(arguments: Sequence[Argument], batch: int) -> str:
    """The loop as LLVM IR."""
    loads: list[str] = []
    steps: list[str] = []
    words: list[str] = []
    for argument in arguments:
        if isinstance(argument, Constant):
            words.append(str(argument))
            continue
        i = len(loads)
        loads.append(
            f"  %t{i} = getelementptr ptr, ptr %table, i64 {i}\n"
            f"  %p{i} = load ptr, ptr %t{i}"
        )
        steps.append(
            f"  %o{i} = mul i64 %j, {argument.step}\n"
            f"  %q{i} = getelementptr i8, ptr %p{i}, i64 %o{i}"
        )
        words.append(f"ptr %q{i}")
    newline = "\n"
    return f"""
define void @repeat(i64 %calls, ptr %f, ptr %table) {{
entry:
{newline.join(loads)}
  br label %call
call:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  br label %item
item:
  %j = phi i64 [ 0, %call ], [ %j1, %item ]
{newline.join(steps)}
  call void %f({", ".join(words)})
  %j1 = add i64 %j, 1
  %last = icmp uge i64 %j1, {batch}
  br i1 %last, label %next, label %item
next:
  %i1 = add i64 %i, 1
  %done = icmp uge i64 %i1, %calls
  br i1 %done, label %exit, label %call
exit:
  ret void
}}
"""


def _compile(text: str) -> Any:
    lb.initialize_native_target()
    lb.initialize_native_asmprinter()
    machine = lb.Target.from_default_triple().create_target_machine(opt=2)
    engine = lb.create_mcjit_compiler(lb.parse_assembly(text), machine)
    engine.finalize_object()
    return engine
