"""Rules that several kernels share: what they ask of operands, sizes and limits."""

import numpy as np

from morello.machine.isa import Isa
from morello.spec import L1, L2, VRF, Dtype, TensorSpec
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import Layout


def in_l1(*tensors: TensorSpec) -> bool:
    """Whether every operand is in the first-level cache."""
    return all(t.level is L1 for t in tensors)


def near_form(dtype: Dtype, rank: int) -> TensorSpec:
    """The form of a kernel's own memory: row-major, in the first-level cache."""
    return TensorSpec(dtype, L1, Layout.row_major(rank), contiguous=True)


def in_l2(*tensors: TensorSpec) -> bool:
    """Whether every operand is in the second-level cache."""
    return all(t.level is L2 for t in tensors)


def free_vectors(frame: Frame) -> Ints:
    """The vector registers that code may use beside those that operands occupy."""
    return frame.limits[VRF]


def free_lines(frame: Frame) -> tuple[Ints, Ints]:
    """The lines of the first- and second-level cache that no operand occupies."""
    return frame.limits[L1], frame.limits[L2]


ROOM_IN_L2 = frozenset({L2})
"""The cache that kernels need which read an operand from it more than once."""


def in_registers(tensor: TensorSpec, isa: Isa) -> bool:
    """Whether the operand is in whole vector registers."""
    return tensor.level is VRF and tensor.vector_width == isa.lanes(tensor.dtype)


def is_interleaved(layout: Layout) -> bool:
    """Whether a dimension is odd-even."""
    return any(d.odd_even for d in layout.dims)


PAIR = 2
"""Elements of a pair: what integer products take together."""


QUAD = 4
"""Elements of a quad: what products of bytes take together."""


GROUPS = {PAIR: "pairs", QUAD: "quads"}


def grouped(layout: Layout, group: int) -> tuple[int, int] | None:
    """The dimension of the groups that end a layout, and that of the pack around them.

    None of a layout that does not end in packs of ``group`` elements so.
    """
    if len(layout.dims) < 2:
        return None
    around, last = layout.dims[-2:]
    plain = around.pack and not around.odd_even and not last.odd_even
    return (last.dim, around.dim) if plain and last.pack == group else None


def paired(layout: Layout) -> tuple[int, int] | None:
    """`grouped` by pairs."""
    return grouped(layout, PAIR)


def size_is_one(frame: Frame, dim: int) -> Condition:
    """Condition that a dimension has one element."""
    name = frame.key.kind.dims[dim]
    return Condition(frame.sizes[dim] == 1, f"needs {name} = 1: tile it to 1")


def product(sizes: tuple[Ints, ...]) -> Ints:
    """The product of sizes (integers or arrays)."""
    total: Ints = 1
    for size in sizes:
        total = total * size
    return total


def others(sizes: tuple[Ints, ...], dim: int) -> Ints:
    """The product of all sizes but one."""
    return product(sizes[:dim] + sizes[dim + 1 :])


def within_pack(frame: Frame, operand: int, dim: int) -> tuple[Condition, ...]:
    """A packed dimension of an operand stays within one pack; nothing if unpacked.

    ``dim`` counts the operand's own dimensions.
    """
    layout = frame.key.tensors[operand].layout
    pack = layout.pack(dim)
    if pack == 1:
        return ()
    form = frame.key.kind.operands[operand]
    name = frame.key.kind.dims[form.dims[dim]]
    size = frame.operand_sizes(operand)[dim]
    return (
        Condition(
            size <= pack, f"takes {name} of {form.name} within one pack: at most {pack}"
        ),
    )


def within_block(vectors: Ints, isa: Isa) -> Condition:
    """Straight-line code stays short."""
    return Condition(
        vectors <= isa.block,
        f"takes at most {isa.block} vectors of {isa.vector_bytes} bytes: "
        "tile it smaller",
    )


def slowest(*parts: Ints) -> Ints:
    """The longest time of parts that run in parallel on separate execution units."""
    most = parts[0]
    for part in parts[1:]:
        most = np.maximum(most, part)
    return most
