"""The coefficients of the cost model, as data of a target.

Costs are integers in units of 1/1000 cycle of the core ("millicycles").
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Coefficients:
    """What each thing costs, in millicycles."""

    line_gl: int
    """Bringing one cache line from beyond L2: from L3."""
    line_l2: int
    """Bringing one cache line from L2 to L1."""
    hidden_gl: int
    """The same where the line is used so much that it comes while the core computes."""
    hidden_l2: int
    """The same from L2."""
    rows_l2: int
    """`hidden_l2` of a gapless operand in few pages that a few rows of another are
    multiplied by: addresses are known, and translated."""
    stream_gl: int
    """One line of a copy in panels, from L3, that is used as often as one from L2 has
    to be: the next ones are known, and come while the core computes."""
    stream_far: int
    """`stream_gl` where operands do not fit L3 together: what else comes through it, of
    the program and of others, pushes out a part of the copy."""
    stream_l2: int
    """The same from L2."""
    store_gl: int
    """Taking one written line to beyond L2; that it is brought first, in part."""
    store_l2: int
    """The same from L1 to L2."""
    turn_gl: int
    """What a written line to beyond L2 takes longer in a tile of several rows, which
    are written in turn."""
    turn_copy: int
    """The same in a copy, which reads a line for each that it writes."""
    row_gl: int
    """Going on, beyond L2, at a row that does not follow the one before: another page,
    and streams that begin anew."""
    row_turned: int
    """The same where the row is written by a copy that reads across it: its next line
    was not asked for, and while stores wait for that, loads wait for the stores."""
    row_l2: int
    """`row_gl` in L2."""
    row_aliased: int
    """Both where rows lie a multiple of a power of two apart, so that all of them fall
    into one set of L1 and few of L2."""
    crowd_l2: int
    """Bringing a line to L2, in a tile of so many such rows that they push each other
    out."""
    crowd_l1: int
    """Bringing a line to L1 in a tile of such rows, where all operands have more of
    them there than L1 has ways."""
    crowd_panel: int
    """The same where panels take so many of the ways that such rows have too few."""
    line_dram: int
    """`line_gl` where operands do not fit L3 together."""
    hidden_dram: int
    """`hidden_gl` there."""
    stream_dram: int
    """A line of a copy that is too large to stay in L3, for each pass over it."""
    turn_dram: int
    """`turn_gl` there, and `turn_copy`."""
    store_dram: int
    """`store_gl` there."""
    run_dram: int
    """`run` there."""
    prefetch: int
    """Asking for a line of L3 that the hardware would bring as soon by itself."""
    prefetch_dram: int
    """The same of a line of DRAM: nothing where the hardware would not bring it."""
    shared_gl: int
    """What a line from or to beyond L2 takes longer for each further thread."""
    run: int
    """Reaching the first line of a run of neighbours beyond L2, where a kernel reads
    one after another: what the hardware has prefetched before it is not of use."""
    strided_factor: int
    """How many times a line costs that a kernel reads a row away from the one before,
    and has not asked for (no unit)."""
    loop_trip: int
    """One trip of a loop, beside its body."""
    loop_setup: int
    """Entering and leaving a loop, or a remainder's straight code."""
    fork: int
    """Starting the threads of a parallel loop, and waiting for the last."""
    kernel_setup: int
    """Entering and leaving a kernel: addresses, and chains that fill and drain."""
    fma: int
    """One vector multiply-add (f32), when ports are the limit."""
    fma_latency: int
    """From one multiply-add to the next that needs its result."""
    multiply_add_int: int
    """One vector multiply and add (32-bit integers)."""
    multiply_add_int_latency: int
    """From one 32-bit multiply and add to the next in its chain (the add)."""
    load: int
    """One vector load, or load and broadcast, from L1."""
    split_load: int
    """What a vector load along a row costs more, on average, where the row need not
    begin with a line: half of such loads take from two lines."""
    split_l2: int
    """The same where the operands of a goal lie in L2, and so its lines are near."""
    dispatch: int
    """Any vector instruction or load of a step whose products keep all vector ports
    busy, beside what the ports take: so many a cycle are begun."""
    store: int
    """One vector store to L1."""
    masked_load: int
    """One masked vector load."""
    shuffle: int
    """One shuffle of vector registers."""
    vector_op: int
    """One other vector operation (max, compare, blend)."""
    vector_op_latency: int
    """From one such operation to the next that needs its result."""
    scalar: int
    """One scalar element moved or computed on its own."""

    def in_dram(self) -> "Coefficients":
        """The same where the operands of a goal lie in DRAM, not in L3."""
        return dataclasses.replace(
            self,
            line_gl=self.line_dram,
            hidden_gl=self.hidden_dram,
            stream_gl=self.stream_far,
            store_gl=self.store_dram,
            turn_gl=self.turn_dram,
            turn_copy=self.turn_dram,
            run=self.run_dram,
            prefetch=self.prefetch_dram,
        )

    def in_l2(self) -> "Coefficients":
        """The same where the operands of a goal lie in L2: what is paid for a line to
        come from beyond is nothing, and rows and loads from two lines are those of L2.
        """
        return dataclasses.replace(
            self,
            line_gl=0,
            hidden_gl=0,
            stream_gl=0,
            store_gl=0,
            turn_gl=0,
            turn_copy=0,
            row_gl=self.row_l2,
            row_turned=self.row_l2,
            run=0,
            split_load=self.split_l2,
        )

    def uncrowded(self) -> "Coefficients":
        """The same where rows do not fall into the same sets of caches."""
        return dataclasses.replace(self, crowd_l1=0, crowd_l2=0, crowd_panel=0)
