"""The ops that each method of the emitter writes.

`python -m tests.passes.emission` writes `emission.txt` anew.
"""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from morello.kernels.emitter import Buffer, Pack  # noqa: F401 (the table has it)
from morello.machine import AVX2
from morello.machine.isa import Isa, Op
from morello.machine.targets.avx512 import AVX512
from morello.mlir import dialect, ir
from morello.passes.parts.emission import MlirEmitter
from morello.spec import L1, Dtype, Layout, TensorSpec
from tests.tables import rows as table_rows

FILE = Path(__file__).with_name("emission.txt")

Write = Callable[..., Any]

V, W, B = "vector<8xf32>", "vector<8xi32>", "vector<32xi8>"
ROWS = "memref<4x24xf32, strided<[40, 1], offset: 3>>"
PANELS = "memref<3x4x8xf32>"


def buffer(value: Any, layout: str, dtype: Dtype = Dtype.F32) -> Buffer:
    """A memref of 4 rows of 24 elements."""
    tensor = TensorSpec(dtype, L1, Layout.parse(layout), False)
    return Buffer(value, tensor, (4, 24))


def rows(value: Any, dtype: Dtype = Dtype.F32) -> Buffer:
    return buffer(value, "[0,1]", dtype)


def panels(value: Any) -> Buffer:
    return buffer(value, "[1,0,1p8]")


def add_each(e: MlirEmitter, i: Any, carried: Any) -> Any:
    return (e.add(carried[0], carried[0]),)


def cases_of(e: MlirEmitter, i: Any) -> dict[int, Callable[[], None]]:
    return {n: functools.partial(e.prefetch, rows(i), (n, 0)) for n in (1, 4, 6)}


CASES: dict[str, tuple[tuple[str, ...], Write]] = {
    name: (eval(kinds), eval(write))
    for name, kinds, write in table_rows(__file__, "emitted_methods")
}
"""Types of arguments, and what is written of them."""
for _name in ("add", "subtract", "multiply"):
    for _kind in (V, W):
        CASES[f"{_name} {_kind}"] = (
            (_kind,) * 2,
            lambda e, a, b, name=_name: getattr(e, name)(a, b),
        )
for _name in ("divide", "greater", "lesser"):
    CASES[_name] = (V,) * 2, lambda e, a, b, name=_name: getattr(e, name)(a, b)
for _dtype in (Dtype.S32, Dtype.U8, Dtype.S8):
    _bits = 8 * _dtype.itemsize
    for _name in ("minimum", "maximum"):
        CASES[f"{_name} {_dtype}"] = (
            (f"vector<8xi{_bits}>",) * 2,
            lambda e, a, b, name=_name, dtype=_dtype: getattr(e, name)(dtype, a, b),
        )
for _from, _to in (
    (Dtype.F32, Dtype.BF16),
    (Dtype.BF16, Dtype.F32),
    (Dtype.F16, Dtype.F32),
    (Dtype.U8, Dtype.S32),
    (Dtype.S8, Dtype.F32),
    (Dtype.S32, Dtype.S8),
    (Dtype.S16, Dtype.S32),
):
    _word = str(_from.value)
    _kind = _word if _from.is_float else f"i{8 * _from.itemsize}"
    CASES[f"convert {_from} to {_to}"] = (
        (f"vector<8x{_kind}>",),
        lambda e, a, source=_from, dest=_to: e.convert(a, source, dest),
    )

WIDE = {
    "greater_number": (("vector<16xf32>",) * 2, lambda e, *a: e.greater_number(*a)),
    "lesser_number": (("vector<16xf32>",) * 2, lambda e, *a: e.lesser_number(*a)),
    "minimum of all": (("vector<16xf32>",) * 2, lambda e, *a: e.minimum(Dtype.F32, *a)),
    "maximum of all": (("vector<16xf32>",) * 2, lambda e, *a: e.maximum(Dtype.F32, *a)),
    "scale": (("vector<16xf32>",) * 2, lambda e, *a: e.scale(*a)),
    "lookup": (
        ("vector<16xi32>",),
        lambda e, a: e.lookup([i / 2 for i in range(16)], a),
    ),
}
DOTS = {
    "dot": ((B,) * 2, lambda e, *a: e.dot(Op.DOT2_SATURATING, *a)),
    "dot of words": (("vector<16xi16>",) * 2, lambda e, *a: e.dot(Op.DOT2, *a)),
}


def emitted(isa: Isa, kinds: tuple[str, ...], write: Write) -> Iterator[str]:
    """The ops that a method writes, as lines."""
    func = dialect("func")
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [ir.Type.parse(kind) for kind in kinds]
            entry = func.FuncOp("f", (types, [])).add_entry_block()
        with ir.InsertionPoint(entry):
            end = func.ReturnOp([]).operation
        with ir.InsertionPoint(end):
            write(MlirEmitter(end, isa), *entry.arguments)
        module.operation.verify()
        for line in str(module).splitlines()[2:-3]:
            if "%c0 = " not in line:
                yield line[2:]


def table() -> str:
    """The text of `FILE`."""
    lines: list[str] = []
    for name, (kinds, write) in {**CASES, **DOTS}.items():
        written = list(emitted(AVX2.isa, kinds, write))
        lines += [f"== {name}", *written]
        if name in CASES:
            other = list(emitted(AVX512.isa, kinds, write))
            lines += ["-- avx512", *other] if other != written else []
    for name, (kinds, write) in WIDE.items():
        lines += [f"== {name}", *emitted(AVX512.isa, kinds, write)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(table())
