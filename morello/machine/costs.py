"""The coefficients of the cost model, as data of a target.

Costs are integers in units of 1/1000 cycle of the core ("millicycles"). Each is a
quantity that a micro-benchmark shows; `morello calibrate` measures all of them, and the
files in ``morello/machine/coefficients`` hold what it wrote.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Coefficients:
    """Cost of memory, loops and calls. ``mem`` is the last-level cache."""

    line_l2: int
    """A line from L2 to L1."""
    store_l2: int
    """A written line from L1 to L2."""
    line_mem_demand: int
    """A line from the last-level cache to L2 that the core waits for."""
    line_mem_overlapped: int
    """A line from the last-level cache that arrives while the core computes."""
    line_mem_fetched: int
    """A line from the last-level cache that a kernel asks for itself, long before, to
    come to L1: it has one of the few places for lines on their way there until it is
    there. Lines asked for to come to L2 have more."""
    store_mem: int
    """A written line from L2 to the last-level cache, and its read for ownership."""
    stream_start_mem: int
    """The first line of a row in the last-level cache, which nothing prefetched: its
    latency, as far as computing does not hide it."""
    line_dram_demand: int
    """`line_mem_demand` where a goal's operands do not fit the last-level cache."""
    line_dram_overlapped: int
    """`line_mem_overlapped` there."""
    line_dram_fetched: int
    """`line_mem_fetched` there."""
    store_dram: int
    """`store_mem` there."""
    stream_start_dram: int
    """`stream_start_mem` there."""
    conflict_l1: int
    """A conflict miss of L1: a line comes from L2 again, as too many rows share its
    set."""
    loop: int
    """A trip of a loop beside its body; entering and leaving a loop, a kernel or the
    straight code of a remainder."""
    fork: int
    """Starting the threads of a parallel loop, and waiting for the last."""

    def in_dram(self) -> "Coefficients":
        """Copy the costs for a goal whose operands lie in DRAM."""
        return dataclasses.replace(
            self,
            line_mem_demand=self.line_dram_demand,
            line_mem_overlapped=self.line_dram_overlapped,
            line_mem_fetched=self.line_dram_fetched,
            store_mem=self.store_dram,
            stream_start_mem=self.stream_start_dram,
        )

    def in_l2(self) -> "Coefficients":
        """Copy the costs for a goal whose operands stay in L2 from call to
        call: lines from beyond cost nothing."""
        return dataclasses.replace(
            self,
            line_mem_demand=0,
            line_mem_overlapped=0,
            line_mem_fetched=0,
            store_mem=0,
            stream_start_mem=0,
        )


@dataclasses.dataclass(frozen=True)
class OpCosts:
    """Reciprocal throughput and latency of each class of instructions.

    The former is what an instruction takes in 1/1000 cycle where nothing else is the
    limit.
    """

    fma: int
    """A vector multiply-add of floats, or another instruction of the multipliers."""
    fma_latency: int
    """Cycles / 1000 from a multiply-add of floats to one that needs its result."""
    multiply_add_int: int
    """A vector multiply and add of 32-bit integers."""
    multiply_add_int_latency: int
    """Cycles / 1000 from one add of integers to the next into the same sum."""
    load: int
    """A vector load, a load and broadcast, or a software prefetch."""
    store: int
    """A vector store."""
    masked_load: int
    """A masked vector load."""
    shuffle: int
    """A shuffle of vector registers."""
    vector_op: int
    """Another vector operation: max, compare, blend, add of integers."""
    vector_op_latency: int
    """Cycles / 1000 from such an operation to one that needs its result."""
    scalar: int
    """One scalar element moved or computed on its own."""
    dot: int = 500
    """A vector of products of bytes, four of which are added to a sum at once."""
    dot_latency: int = 5000
    """Cycles / 1000 from a product of bytes to the next one into the same sum."""
    dot_bf16: int = 500
    """A vector of products of bf16, two of which are added to a sum at once."""
    dot_bf16_latency: int = 6000
    """Cycles / 1000 from a product of bf16 to the next one into the same sum."""
    tile_dot: int = 16000
    """A product of two tiles, added to a third, whatever rows they have."""
    tile_dot_latency: int = 52000
    """Cycles / 1000 from a product of tiles to the next one into the same sum."""
    tile_row: int = 2250
    """A row of a tile loaded from L1 or L2."""
    tile_config: int = 214000
    """A configuration of the tiles."""


ORDERS: tuple[tuple[str, str], ...] = (
    ("load", "masked_load"),
    ("line_mem_overlapped", "line_mem_demand"),
    ("line_dram_overlapped", "line_dram_demand"),
    ("line_l2", "line_mem_overlapped"),
    ("line_mem_overlapped", "line_dram_overlapped"),
    ("line_mem_demand", "line_dram_demand"),
    ("line_l2", "line_mem_fetched"),
    ("line_mem_fetched", "line_dram_fetched"),
    ("store_mem", "store_dram"),
    ("stream_start_mem", "stream_start_dram"),
)
"""Pairs of coefficients, the first never more than the second: what the second counts
does all that the first does, or comes from farther away. A fit may not turn them round;
times alone would, where programs have both in the same proportions."""


def names(*costs: type) -> tuple[str, ...]:
    """The names of the fields of `Coefficients`, `OpCosts` or both."""
    return tuple(f.name for cost in costs for f in dataclasses.fields(cost))
