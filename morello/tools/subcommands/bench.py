"""``morello bench``: time a kernel, and the peak of the machine.

Read `main`, then `Measurement`, which defines each measured field.
"""

import dataclasses
import json
import math
from typing import Any

import numpy as np

from morello.compiler.kernel import Kernel
from morello.compiler.threads import thread_count
from morello.compiler.tuning.timing import Samples, pinned, sample
from morello.errors import MorelloError
from morello.explain.words import read_text
from morello.machine import print_target
from morello.machine.host import host
from morello.machine.isa import Isa, Op
from morello.machine.processors import processors
from morello.runtime.peak import measure_peak, peak_dtypes
from morello.search import Statistics
from morello.spec import Array, Dtype, Spec, print_spec
from morello.tools.commands import BenchOptions
from morello.tools.input_output import UsageError, write_output
from morello.tools.progress import progress, search_text
from morello.tools.subcommands.explain import count_and_note
from morello.tools.subject_choice import subject_of
from morello.tools.subjects import SpecSubject, Subject, Verdict
from morello.tools.table import cost_text, origin_text, table, threads_text, time_text

_PEAK_SECONDS = 5e-4
"""How long the peak is measured between two samples: about eight runs of its loop."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Fields that ``--json`` prints; None where one does not apply."""

    spec: str
    """The Spec, or the file of a model."""
    parts: tuple[str, ...]
    """Each Spec that is computed."""
    fallback: tuple[str, ...]
    """The ops of a model that MLIR's plain lowering computes."""
    target: str
    cpu: str
    """The processor, as LLVM calls it."""
    threads: int
    """The most that a call may use."""
    threads_used: int
    """The number that the kernel uses."""
    best_s: float | None
    """Seconds a call, from Python, with its arguments checked: the best sample."""
    median_s: float | None
    samples: int
    calls_per_sample: int
    gflops: float | None
    """10^9 operations of the definition a second, by ``best_s``."""
    median_gflops: float | None
    gbytes_per_s: float | None
    """10^9 bytes of operands, each as often as it is read or written, by ``best_s``."""
    peak_gflops: float | None
    """Multiply-adds of the output's dtype on the cores that ``threads`` may use."""
    peak_gflops_core: float | None
    """Peak of one core: measured between the samples, the best of all."""
    fraction_of_peak: float | None
    """``gflops`` of ``peak_gflops``."""
    search_s: float | None
    compile_s: float
    cost: int
    """The predicted cost of a call, in 1/1000 cycles."""
    workspace_bytes: int
    search: dict[str, Any] | None
    """Statistics of the searches: ``specs`` solved in ``tables``, of which
    ``tables_read`` were read, ``table_parts`` of them as parts of larger ones, and how
    many of each of the ``goals`` that they were solved for; ``impls`` compared,
    Specs a box (``compression`` with costs, ``compression_decisions`` without),
    ``peak_bytes`` of the process by its end, and with ``--count`` ``programs_log10``,
    how many programs the space has."""
    verified: bool
    """Whether the output on random inputs was the definition's: bit for bit, or within
    the bound where sums of more than 2^20 terms are rounded to f32."""


def main(options: BenchOptions) -> int:
    """Run the command.

    Raises:
        MorelloError: a refused argument, or a wrong kernel. ``--json`` prints an
            object in the second case too, without times.
    """
    subject = subject_of(options, options.seed)
    if options.count and not isinstance(subject, SpecSubject):
        raise UsageError(
            "argument --count: a model has several Specs",
            "give the Spec of one part, as 'morello explain' lists them",
        )
    threads = thread_count(options.threads, subject.schedule)
    kernel = subject.compile(threads, False if options.untuned else None)
    outputs = subject.arguments(kernel)
    kernel(*outputs)
    verdict = subject.judge(outputs)
    samples, core_peak = None, None
    if verdict.holds:
        with progress(f"timing {subject.text}"):
            samples, core_peak = _measure(subject, kernel, outputs, options.seconds)
    measured = _measurement(subject, kernel, threads, samples, core_peak)
    if options.count and measured.search and isinstance(subject, SpecSubject):
        programs = count_and_note(subject.request, kernel.spec, kernel.target)
        measured.search["programs_log10"] = programs * math.log10(2)
    if options.json:
        write_output("-", json.dumps(dataclasses.asdict(measured)) + "\n")
    if not verdict.holds:
        raise MorelloError(
            f"the kernel of {subject.text} is wrong and was not timed: {verdict}",
            "please report it with the schedule that 'morello emit' prints",
        )
    if not options.json:
        write_output("-", _text(measured, subject, kernel, verdict))
    return 0


def _measure(
    subject: Subject, kernel: Kernel, first: list[Array], seconds: float
) -> tuple[Samples, float | None]:
    """Samples of the kernel, and the peak of a core seen between them.

    Args:
        first: the arguments of a call, as it has left them.

    Raises:
        MorelloError: the last call leaves other outputs than the first.
    """
    isa = kernel.target.isa
    dtypes = {peak_dtype(spec, isa) for spec in kernel.specs if spec.flops}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    peaks: list[float] = []

    def look_at_peak() -> None:
        if dtype is not None:
            peaks.append(measure_peak(dtype, _PEAK_SECONDS, isa))

    arguments = tuple(subject.arguments(kernel))
    with pinned(kernel.threads == 1):
        look_at_peak()  # compiles the loop, too
        samples = sample(kernel, arguments, look_at_peak, seconds)
    if not any(parameter.accumulates for parameter in kernel.parameters):
        pairs = zip(
            subject.outputs(arguments).values(),
            subject.outputs(first).values(),
            strict=True,
        )
        if any(last.tobytes() != array.tobytes() for last, array in pairs):
            raise MorelloError(
                f"the kernel of {subject.text} gives another output after many calls",
                "please report it with the schedule that 'morello emit' prints",
            )
    return samples, max(peaks, default=None)


def peak_dtype(spec: Spec, isa: Isa) -> str | None:
    """The dtype of the multiply-adds that bound a Spec; None if no loop is known.

    Narrow floats are widened and multiplied as f32. Products of bytes, and those of
    bf16 that flush, have a loop where one instruction of vectors computes them, but not
    where tiles do. Other narrow integers have faster instructions than s32 has, and a
    Spec without arithmetic has no such peak.
    """
    if not spec.flops:
        return None
    has_tiles = isa.has(Op.TILE_ZERO)
    if getattr(spec.kind, "flushing", False):
        factor, other = spec.dtypes[:2]
        is_narrow = factor is other is not Dtype.F32
        if is_narrow and str(factor) in peak_dtypes(isa):
            return None if has_tiles else str(factor)
    if all(spec.dtypes[out] is Dtype.F32 for out in spec.kind.written):
        return "f32"
    if spec.dtypes == (Dtype.U8, Dtype.S8, Dtype.S32) and "u8" in peak_dtypes(isa):
        return None if has_tiles else "u8"
    return "s32" if set(spec.dtypes) == {Dtype.S32} else None


def operand_bytes(spec: Spec) -> int:
    """Bytes that any program must read and write, padding left out."""
    total = 0
    for i, (operand, dtype) in enumerate(
        zip(spec.kind.operands, spec.dtypes, strict=True)
    ):
        times = operand.is_read + operand.is_written
        total += times * dtype.itemsize * int(np.prod(spec.shape(i), dtype=np.int64))
    return total


def _measurement(
    subject: Subject,
    kernel: Kernel,
    threads: int,
    samples: Samples | None,
    core_peak: float | None,
) -> Measurement:
    best = samples.best if samples else None
    median = samples.median if samples else None
    cores = min(threads, processors())
    peak = core_peak * cores if core_peak is not None else None
    flops = sum(spec.flops for spec in kernel.specs)
    gflops = _rate(flops, best)
    searched = any(solution is not None for solution in kernel.solutions)
    return Measurement(
        spec=kernel.text if kernel.held is None else subject.text,
        parts=tuple(print_spec(spec, kernel.target.limits) for spec in kernel.specs),
        fallback=tuple(refusal.op for refusal in kernel.fallback),
        target=print_target(dataclasses.replace(kernel.target, threads=1)),
        cpu=host().cpu,
        threads=threads,
        threads_used=kernel.threads,
        best_s=best,
        median_s=median,
        samples=len(samples.seconds) if samples else 0,
        calls_per_sample=samples.calls if samples else 0,
        gflops=gflops,
        median_gflops=_rate(flops, median),
        gbytes_per_s=_rate(sum(map(operand_bytes, kernel.specs)), best),
        peak_gflops=peak,
        peak_gflops_core=core_peak,
        fraction_of_peak=gflops / peak if gflops and peak else None,
        search_s=kernel.times.search if searched or kernel.filled else None,
        compile_s=kernel.times.compile,
        cost=kernel.cost(),
        workspace_bytes=kernel.workspace_bytes,
        search=_search_data(kernel),
        verified=samples is not None,
    )


def _searched(kernel: Kernel) -> Statistics | None:
    """The searches of all Specs of a kernel, and of what a schedule leaves open; None
    where there was none."""
    every = (*kernel.solutions, *kernel.filled)
    # Equal parts of a model have one solution.
    known = {id(s): s.statistics for s in every if s is not None}
    return Statistics.of_all(tuple(known.values())) if known else None


def _search_data(kernel: Kernel) -> dict[str, Any] | None:
    statistics = _searched(kernel)
    if statistics is None:
        return None
    return {
        "tables": statistics.tables,
        "tables_read": statistics.read,
        "table_parts": statistics.parts,
        "goals": dict(statistics.goals),
        "specs": statistics.specs,
        "specs_beyond": statistics.beyond,
        "impls": statistics.impls,
        "compression": statistics.compression,
        "compression_decisions": statistics.compression_decisions,
        "peak_bytes": statistics.peak_bytes,
        "programs_log10": None,
    }


def _rate(amount: int, seconds: float | None) -> float | None:
    """Rate in units of 10^9 a second; None where the count is zero or nothing was
    timed."""
    return amount / seconds / 1e9 if amount and seconds else None


def _text(
    measurement: Measurement, subject: Subject, kernel: Kernel, verdict: Verdict
) -> str:
    """Format a measurement as the table that is printed."""
    samples = f"{measurement.samples} samples of {measurement.calls_per_sample} calls"
    rows = [
        *subject.rows(kernel, measurement.cpu),
        ("threads", threads_text(measurement.threads, measurement.threads_used)),
        ("kernel", origin_text(kernel)),
        ("cost", cost_text(measurement.cost)),
        ("verified", str(verdict)),
        ("best", f"{_per_call(measurement.best_s, measurement.gflops)}"),
        (
            "median",
            f"{_per_call(measurement.median_s, measurement.median_gflops)}, {samples}",
        ),
    ]
    if measurement.peak_gflops is not None and measurement.fraction_of_peak is not None:
        rows.append(
            (
                "peak",
                f"{measurement.peak_gflops:.2f} GFLOP/s of multiply-adds; "
                f"the best is {100 * measurement.fraction_of_peak:.1f} % of it",
            )
        )
    rows.append(("bandwidth", f"{measurement.gbytes_per_s:.2f} GB/s of operands"))
    searched = _searched(kernel)
    if searched is not None and searched.tables:
        rows.append(("search", search_text(searched)))
    if searched is not None and searched.read:
        rows.append(("read", f"{searched.read:,} tables of {read_text(searched)}"))
    if (
        measurement.search is not None
        and measurement.search["programs_log10"] is not None
    ):
        rows.append(("programs", f"10^{measurement.search['programs_log10']:,.1f}"))
    return table(*rows)


def _per_call(seconds: float | None, gflops: float | None) -> str:
    rate = f", {gflops:.2f} GFLOP/s" if gflops is not None else ""
    return f"{time_text(seconds or 0.0)} a call{rate}"
