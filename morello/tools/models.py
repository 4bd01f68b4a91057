"""``run``, ``bench``, ``explain`` and ``save`` of a file with a program of MLIR."""

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from morello.compiler.kernel import Kernel
from morello.compiler.threads import thread_count
from morello.compiler.tuning.timing import pinned, sample
from morello.errors import ArgumentError, MorelloError
from morello.explain import Request as Wanted
from morello.explain import as_text, explain
from morello.explain.words import Clock
from morello.frontends.model import Model, from_mlir
from morello.machine import Target
from morello.runtime.parameter import Parameter
from morello.search import Patience, Solver, Statistics
from morello.search.compiled import compiled, is_compiled
from morello.search.queries.best_program import parallel_goal
from morello.search.storage.overlay import NONE, default_path, open_database
from morello.spec import Array, print_spec
from morello.tools.array_files import read_array, write_operands
from morello.tools.commands import (
    BenchOptions,
    ExplainOptions,
    RunOptions,
    SaveOptions,
)
from morello.tools.input_output import (
    UsageError,
    check_output,
    input_name,
    read_mlir,
    write_output,
)
from morello.tools.progress import progress, search_text
from morello.tools.request import tool_target
from morello.tools.table import (
    cost_text,
    size_text,
    table,
    target_text,
    threads_text,
    time_text,
)

_TOLERANCES = {"float32": 1e-3, "bfloat16": 5e-2}
"""Of a result, as a part of its largest element."""


class _Options(Protocol):
    """What the commands have in common."""

    @property
    def spec(self) -> str: ...
    @property
    def target(self) -> str | None: ...
    @property
    def fallback(self) -> bool: ...
    @property
    def schedule(self) -> str | None: ...
    @property
    def db(self) -> str | None: ...


class _Compiling(_Options, Protocol):
    """What those have that compile."""

    @property
    def threads(self) -> int | None: ...
    @property
    def time_limit(self) -> float | None: ...


def _read(options: _Options) -> tuple[Model, Target]:
    """The model of a command line, and its target.

    Raises:
        MorelloError: it cannot be read, or has ops without a Spec.
    """
    if options.schedule is not None:
        raise UsageError(
            "argument --schedule: a model has several Specs",
            "give the Spec of one part, as 'morello explain' lists them",
        )
    target = tool_target(options.target)
    name = input_name(options.spec)
    text = read_mlir(options.spec)
    return from_mlir(text, source=name, fallback=options.fallback), target


def _compile(
    options: _Compiling,
    model: Model,
    target: Target,
    measured: bool,
) -> Kernel:
    with progress(f"searching for the parts of {options.spec}") as show:
        part = ""

        def begin(text: str) -> None:
            nonlocal part
            part = text

        def watch(found: Statistics) -> None:
            if not found.tables and not is_compiled():
                show("compiling the search, once after installation")
                compiled().prepare()
            show(f"{part}: {search_text(found)}")

        return model.compile(
            target=target,
            threads=options.threads,
            db=open_database(options.db, default=default_path) or NONE,
            time_limit=Patience(options.time_limit, interruptible=True, watch=watch),
            tune=None if measured else False,
            progress=begin,
        )


def _arguments(
    model: Model, seed: int, files: tuple[tuple[str, str], ...] = ()
) -> list[Array]:
    """Arrays of the command line, and random ones, of deviation 1.

    Raises:
        ArgumentError: a name that no argument has, or twice.
    """
    inputs = [p for p in model.parameters if not p.is_output]
    names = [parameter.name for parameter in inputs]
    paths = dict(files)
    if len(paths) < len(files) or set(paths) - set(names):
        wrong = next((n for n in paths if n not in names), files[-1][0])
        raise ArgumentError(
            f"--input {wrong}=…: {model.name} has no such argument, or it is given "
            "twice",
            f"its arguments are {', '.join(names) or 'none'}",
        )
    rng = np.random.default_rng(seed)
    return [
        read_array(paths[p.name], p.role, p.dtype, p.shapes)
        if p.name in paths
        else _drawn(rng, p)
        for p in inputs
    ]


def _drawn(rng: np.random.Generator, parameter: Parameter) -> Array:
    return rng.standard_normal(parameter.shape, np.float32).astype(parameter.dtype)


def _compared(model: Model, arrays: list[Array], found: Any) -> str:
    """How far results are from the definition of the parts.

    Raises:
        MorelloError: too far.
    """
    wanted = model.evaluate(*arrays)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    made = found if isinstance(found, tuple) else (found,)
    worst = 0.0
    for own, want in zip(made, several, strict=True):
        one, other = own.astype(np.float64), want.astype(np.float64)
        if not np.array_equal(np.isnan(one), np.isnan(other)):
            worst = np.inf
            continue
        scale = float(np.nanmax(np.abs(other), initial=0.0)) or 1.0
        error = float(np.nanmax(np.abs(one - other), initial=0.0)) / scale
        worst = max(worst, error / _TOLERANCES.get(own.dtype.name, 1e-9))
        if worst > 1:
            break
    if not worst <= 1:
        raise MorelloError(
            f"the results of {model.name} are {worst:.3g} times as far from the "
            "definition of its parts as they may be",
            "please report it with the file",
        )
    return f"within {100 * worst:.3g} % of the allowed difference from the definition"


def _rows(options: _Options, found: Kernel, threads: int) -> list[tuple[str, str]]:
    search, rest = time_text(found.times.search), time_text(found.times.compile)
    return [
        ("model", f"{options.spec} on {target_text(found.target)}"),
        ("parts", str(len(found.specs))),
        *_fallback_rows(found),
        ("threads", threads_text(threads, found.threads)),
        ("kernel", f"found in {search}, compiled in {rest}"),
        ("cost", cost_text(found.cost())),
        ("workspace", size_text(found.workspace_bytes)),
    ]


def _fallback_rows(found: Kernel) -> list[tuple[str, str]]:
    """What plain lowering computes, each op once."""
    named = [f"{refusal.op} at {refusal.place}" for refusal in found.fallback]
    return [("fallback", ", ".join(dict.fromkeys(named)))] if named else []


def run_model(options: RunOptions) -> int:
    """``morello run FILE.mlir``.

    Returns:
        0.

    Raises:
        MorelloError: a refused argument, ops without a Spec, or a wrong result.
    """
    model, target = _read(options)
    arrays = _arguments(model, options.seed, options.input)
    if options.output is not None:
        check_output(options.output)
    threads = thread_count(options.threads, None)
    found = _compile(options, model, target, not options.untuned)
    start = time.perf_counter()
    made = found(*arrays)
    elapsed = time.perf_counter() - start
    verdict = _compared(model, arrays, made)
    if options.output is not None:
        results = made if isinstance(made, tuple) else (made,)
        names = [p.name for p in model.parameters if p.is_output]
        named = dict(zip(names, results, strict=True))
        write_operands(options.output, named)
    rows = _rows(options, found, threads)
    rows += [
        ("call", f"{time_text(elapsed)} (the first one, cold)"),
        ("result", verdict),
    ]
    text = f"{model}\n{table(*rows)}"
    if options.output == "-":
        sys.stderr.write(text)
    else:
        write_output("-", text)
    return 0


@dataclasses.dataclass(frozen=True)
class _Measured:
    """What ``bench --json`` prints of a model."""

    model: str
    target: str
    parts: tuple[str, ...]
    fallback: tuple[str, ...]
    """The ops that MLIR's plain lowering computes."""
    threads: int
    threads_used: int
    best_s: float
    """Seconds a call, from Python, with its arguments checked: the best sample."""
    median_s: float
    samples: int
    calls_per_sample: int
    gflops: float
    """10^9 operations of the definitions of the parts a second, by ``best_s``."""
    search_s: float
    compile_s: float
    cost: int
    """The predicted cost of a call, in 1/1000 cycles."""
    workspace_bytes: int


def bench_model(options: BenchOptions) -> int:
    """``morello bench FILE.mlir``.

    Returns:
        0.

    Raises:
        MorelloError: as `run_model`; a wrong model is not timed.
    """
    model, target = _read(options)
    arrays = _arguments(model, options.seed)
    threads = thread_count(options.threads, None)
    found = _compile(options, model, target, not options.untuned)
    made = found(*arrays)
    verdict = _compared(model, arrays, made)
    results = list(made) if isinstance(made, tuple) else [made]
    out = results[0] if len(results) == 1 else tuple(results)

    def call(*given: Array) -> None:
        found(*given, out=out)

    with progress(f"timing {options.spec}"), pinned(found.threads == 1):
        samples = sample(call, tuple(arrays), lambda: None, options.seconds)
    limits = found.target.limits
    flops = sum(spec.flops for spec in found.specs)
    measured = _Measured(
        options.spec,
        target_text(found.target),
        tuple(print_spec(spec, limits) for spec in found.specs),
        tuple(refusal.op for refusal in found.fallback),
        threads,
        found.threads,
        samples.best,
        samples.median,
        len(samples.seconds),
        samples.calls,
        flops / samples.best / 1e9,
        found.times.search,
        found.times.compile,
        found.cost(),
        found.workspace_bytes,
    )
    if options.json:
        write_output("-", json.dumps(dataclasses.asdict(measured)) + "\n")
        return 0
    rows = _rows(options, found, threads)
    rate = f"{measured.gflops:.2f} GFLOP/s"
    count = f"{measured.samples} samples of {measured.calls_per_sample} calls"
    rows += [
        ("verified", verdict),
        ("best", f"{time_text(measured.best_s)} a call, {rate}"),
        ("median", f"{time_text(measured.median_s)} a call, {count}"),
    ]
    write_output("-", table(*rows))
    return 0


def explain_model(options: ExplainOptions) -> int:
    """``morello explain FILE.mlir``: the parts, then the program of each.

    Returns:
        0.

    Raises:
        MorelloError: ops without a Spec; ``--html``, ``--json``, ``--count`` or
            ``--at``, which are for one Spec.
    """
    if options.html is not None or options.json or options.count or options.at:
        raise UsageError(
            "--html, --json, --count and --at explain one Spec",
            "give the Spec of a part, as the list of 'morello explain' has it",
        )
    model, target = _read(options)
    threads = thread_count(options.threads, None)
    database = open_database(options.db, default=default_path)
    clock = Clock(options.ghz)
    texts = [f"{model}\n"]
    for number, part in enumerate(model.parts):
        goal, machine = parallel_goal(part.spec(target.limits), target, threads)
        if part.is_laid_out:
            machine = dataclasses.replace(machine, relayouts=False)
        text = print_spec(goal, target.limits)
        with progress(f"searching for {text}"):
            solver = Solver(machine.at(goal), database)
            wanted = Wanted(options.depth or 0, frozenset())
            found = explain(goal, solver, wanted)
        texts.append(
            f"\npart {number}: {text}\n"
            f"{as_text(found, clock, options.top, options.moves)}"
        )
    write_output("-", "".join(texts))
    return 0


def save_model(options: SaveOptions) -> int:
    """``morello save FILE.mlir -o FILE``.

    The elements of constants, which are arguments in C, are written next to the first
    file: ``k.constant1.bin`` for ``k.o``.

    Returns:
        0.

    Raises:
        MorelloError: ops without a Spec, or ``--pack``, ``--also`` or ``--targets``.
    """
    if options.pack or options.also or options.targets:
        raise UsageError(
            "--pack, --also and --targets are for Specs", "leave them out for a model"
        )
    model, target = _read(options)
    found = _compile(options, model, target, options.tuned)
    library = found.library(options.name)
    contents = [(file, library.content(file)) for file in options.output]
    for name, array in found.constants.items():
        beside = str(Path(options.output[0]).with_suffix(f".{name}.bin"))
        contents.append((beside, array.tobytes()))
    for file, content in contents:
        write_output(file, content)
    return 0
