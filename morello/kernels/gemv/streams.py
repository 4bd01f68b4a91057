"""Units of an operand that a kernel reads side by side, far from each other.

One run of memory that is read from end to end keeps too few lines on their way: the
hardware prefetcher stops at pages of 4 KiB, and has to learn each page anew. Several
streams that go on from unit to unit at places far from each other are fetched beside
each other.
"""

from collections.abc import Callable, Sequence

from morello.kernels.emitter import Emitter, Value

Units = Callable[[Sequence[Value], int], None]
"""Takes units side by side, and how many units after them the next ones are, if any."""


def run_streams(
    emitter: Emitter,
    streams: int,
    count: int,
    body: Units,
    first: Units | None = None,
    prefetches: bool = False,
) -> None:
    """Call ``body`` with the numbers of ``streams`` units, then with those left.

    Of ``count`` units; each is in one call, in a loop or after it. ``first`` is called
    instead the first time, if it is given.

    Args:
        prefetches: whether units prefetch what comes next in their streams: then the
            last of each have a call of their own, with 0 after them; all have 0 if not.
    """
    each = count // streams
    after = int(prefetches)

    def places(at: Value) -> list[Value]:
        return [emitter.offset(at, stream * each) for stream in range(streams)]

    def side_by_side(at: Value, carried: Sequence[Value]) -> list[Value]:
        body(places(at), after)
        return []

    begin, end = 0, each - after
    if first and each:
        first(places(0), after if each > 1 else 0)
        begin = 1
    if end > begin + 1:
        emitter.loop(begin, end, 1, (), side_by_side)
    elif end > begin:
        side_by_side(begin, ())
    if each > max(begin, end):
        body(places(each - 1), 0)
    rest = range(each * streams, count)
    if rest:
        (body if each or not first else first)(rest, 0)
