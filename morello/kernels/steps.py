"""A loop of equal steps that carries sums, a few steps for each trip."""

from collections.abc import Sequence

from morello.kernels.emitter import Body, Emitter, Value

UNROLL = 4
"""Up to so many steps the loop is written out."""

TOGETHER = 2
"""Steps of a trip. To count and to jump takes 3 instructions, beside the 20 of a step
of 6 rows and 16 columns: where another thread shares the core, what a processor fetches
is short, and a product of two steps a trip takes 0.93 to 0.99 of the time."""


def run_steps(
    emitter: Emitter, count: int, carried: Sequence[Value], step: Body
) -> Sequence[Value]:
    """Run ``step`` from 0 to below ``count``; the last values carried."""
    whole = count - count % TOGETHER if count > UNROLL else 0

    def together(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
        for by in range(TOGETHER):
            carried = step(emitter.offset(at, by), tuple(carried))
        return carried

    if whole:
        carried = emitter.loop(0, whole, TOGETHER, carried, together)
    for at in range(whole, count):
        carried = step(at, tuple(carried))
    return carried
