"""``morello bench``: time a Spec's kernel, and the peak of the machine.

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
from morello.compiler.tuning.trial import Trial
from morello.compiler.tuning.verify import Verdict
from morello.errors import MorelloError
from morello.machine import print_target
from morello.machine.host import host
from morello.machine.isa import Isa
from morello.machine.processors import processors
from morello.runtime.peak import measure_peak, peak_dtypes
from morello.search import Solution
from morello.spec import Array, Dtype, Spec
from morello.tools.commands import BenchOptions
from morello.tools.explain import count_and_note
from morello.tools.input_output import write_output
from morello.tools.model_files import is_model
from morello.tools.progress import progress, search_text
from morello.tools.request import Request
from morello.tools.table import (
    cost_text,
    made_from,
    table,
    target_text,
    threads_text,
    time_text,
)

_PEAK_SECONDS = 5e-4
"""How long the peak is measured between two samples: about eight runs of its loop."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What ``--json`` prints, field by field; None where something does not apply."""

    spec: str
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
    """The same on one core: measured between the samples, the best of all."""
    fraction_of_peak: float | None
    """``gflops`` of ``peak_gflops``."""
    search_s: float | None
    compile_s: float
    cost: int
    """The predicted cost of a call, in 1/1000 cycles."""
    workspace_bytes: int
    search: dict[str, Any] | None
    """Statistics of the search: ``specs`` solved in ``tables``, ``impls`` compared,
    Specs a box (``compression`` with costs, ``compression_decisions`` without),
    ``peak_bytes`` of the process by its end, and with ``--count`` ``programs_log10``,
    how many programs the space has."""
    verified: bool
    """Whether the output on random inputs was the definition's: bit for bit, or within
    the bound where sums of more than 2^20 terms are rounded to f32."""


def main(options: BenchOptions) -> int:
    """Run the command.

    Returns:
        0.

    Raises:
        MorelloError: a refused argument, or a wrong kernel. ``--json`` prints an
            object in the second case too, without times.
    """
    if is_model(options.spec, options.fallback):
        # Programs of MLIR need much that Specs do not.
        from morello.tools.models import bench_model

        return bench_model(options)
    request = Request.read(
        options.spec, options.target, options.schedule, options.db, options.time_limit
    )
    trial = Trial.make(request.goal.spec, options.seed, {})
    threads = thread_count(options.threads, request.schedule)
    kernel = request.compile(threads, tune=False if options.untuned else None)
    trial = trial.settled(kernel.spec)
    outputs = trial.run(kernel)
    verdict = trial.judge(outputs)
    samples, core_peak = None, None
    if verdict.holds:
        with progress(f"timing {request.text}"):
            samples, core_peak = _measure(trial, kernel, outputs, options.seconds)
    found = _measurement(kernel.text, kernel, threads, samples, core_peak)
    if options.count and found.search is not None:
        programs = count_and_note(request, kernel.spec, kernel.target)
        found.search["programs_log10"] = programs * math.log10(2)
    if options.json:
        write_output("-", json.dumps(dataclasses.asdict(found)) + "\n")
    if not verdict.holds:
        raise MorelloError(
            f"the kernel of {request.text} is wrong and was not timed: {verdict}",
            "please report it with the schedule that 'morello emit' prints",
        )
    if not options.json:
        write_output("-", _text(found, kernel, verdict))
    return 0


def _measure(
    trial: Trial, kernel: Kernel, outputs: list[Array], seconds: float
) -> tuple[Samples, float | None]:
    """Samples of the kernel, and the peak of a core seen between them.

    Raises:
        MorelloError: the calls end with other outputs than ``outputs``, the first.
    """
    isa = kernel.target.isa
    dtype = peak_dtype(kernel.spec, isa)
    peaks: list[float] = []

    def look_at_peak() -> None:
        if dtype is not None:
            peaks.append(measure_peak(dtype, _PEAK_SECONDS, isa))

    arguments = tuple(trial.arguments())
    with pinned(kernel.threads == 1):
        look_at_peak()  # compiles the loop, too
        samples = sample(kernel, arguments, look_at_peak, seconds)
    if not kernel.spec.kind.accumulates and not trial.agree(arguments, outputs):
        raise MorelloError(
            f"the kernel of {kernel.spec} gives another output after many calls",
            "please report it with the schedule that 'morello emit' prints",
        )
    return samples, max(peaks, default=None)


def peak_dtype(spec: Spec, isa: Isa) -> str | None:
    """The dtype of the multiply-adds that bound a Spec; None if no loop is known.

    Narrow floats are widened and multiplied as f32. Products of bytes have a loop where
    one instruction computes them. Other narrow integers have faster instructions than
    s32 has, and a Spec without arithmetic has no such peak.
    """
    if not spec.flops:
        return None
    if all(spec.dtypes[out] is Dtype.F32 for out in spec.kind.written):
        return "f32"
    if spec.dtypes == (Dtype.U8, Dtype.S8, Dtype.S32) and "u8" in peak_dtypes(isa):
        return "u8"
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
    text: str,
    kernel: Kernel,
    threads: int,
    samples: Samples | None,
    core_peak: float | None,
) -> Measurement:
    spec = kernel.spec
    best = samples.best if samples else None
    median = samples.median if samples else None
    cores = min(threads, processors())
    peak = core_peak * cores if core_peak is not None else None
    gflops = _rate(spec.flops, best)
    return Measurement(
        spec=text,
        target=print_target(dataclasses.replace(kernel.target, threads=1)),
        cpu=host().cpu,
        threads=threads,
        threads_used=kernel.threads,
        best_s=best,
        median_s=median,
        samples=len(samples.seconds) if samples else 0,
        calls_per_sample=samples.calls if samples else 0,
        gflops=gflops,
        median_gflops=_rate(spec.flops, median),
        gbytes_per_s=_rate(operand_bytes(spec), best),
        peak_gflops=peak,
        peak_gflops_core=core_peak,
        fraction_of_peak=gflops / peak if gflops and peak else None,
        search_s=kernel.times.search if kernel.solution or kernel.filled else None,
        compile_s=kernel.times.compile,
        cost=kernel.cost(),
        workspace_bytes=kernel.workspace_bytes,
        search=_search_data(kernel.solution),
        verified=samples is not None,
    )


def _search_data(solution: Solution | None) -> dict[str, Any] | None:
    if solution is None:
        return None
    found = solution.statistics
    return {
        "tables": found.tables,
        "specs": found.specs,
        "impls": found.impls,
        "compression": found.compression,
        "compression_decisions": found.compression_decisions,
        "peak_bytes": found.peak_bytes,
        "programs_log10": None,
    }


def _rate(amount: int, seconds: float | None) -> float | None:
    """10^9 a second; None of nothing, or where nothing was timed."""
    return amount / seconds / 1e9 if amount and seconds else None


def _text(found: Measurement, kernel: Kernel, verdict: Verdict) -> str:
    """A measurement for a person."""
    samples = f"{found.samples} samples of {found.calls_per_sample} calls"
    rows = [
        ("spec", f"{found.spec} on {target_text(kernel.target)} ({found.cpu})"),
        ("threads", threads_text(found.threads, found.threads_used)),
        ("kernel", made_from(kernel)),
        ("cost", cost_text(found.cost)),
        ("verified", str(verdict)),
        ("best", f"{_per_call(found.best_s, found.gflops)}"),
        ("median", f"{_per_call(found.median_s, found.median_gflops)}, {samples}"),
    ]
    if found.peak_gflops is not None and found.fraction_of_peak is not None:
        rows.append(
            (
                "peak",
                f"{found.peak_gflops:.2f} GFLOP/s of multiply-adds; "
                f"the best is {100 * found.fraction_of_peak:.1f} % of it",
            )
        )
    rows.append(("bandwidth", f"{found.gbytes_per_s:.2f} GB/s of operands"))
    if kernel.solution is not None and kernel.solution.statistics.specs:
        rows.append(("search", search_text(kernel.solution.statistics)))
    if found.search is not None and found.search["programs_log10"] is not None:
        rows.append(("programs", f"10^{found.search['programs_log10']:,.1f}"))
    return table(*rows)


def _per_call(seconds: float | None, gflops: float | None) -> str:
    rate = f", {gflops:.2f} GFLOP/s" if gflops is not None else ""
    return f"{time_text(seconds or 0.0)} a call{rate}"
