"""The parts of a model, searched one by one and compiled as one function."""

import dataclasses
import time
from collections.abc import Callable, Sequence

from morello.aot.stages import Stages, name_module
from morello.compiler.compile import Searches
from morello.compiler.kernel import Times
from morello.compiler.schedule_text import schedule_text
from morello.dialect import load
from morello.dialect.build import spec_of
from morello.errors import CompileError, SearchError
from morello.frontends.grouping.emission import inline_parts, model_module
from morello.frontends.grouping.groups import split
from morello.frontends.grouping.packing import Packed, opened, packed
from morello.frontends.grouping.parts import Part, PlainPart, Step
from morello.frontends.nodes.tensors import Tensors
from morello.machine import Target
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.passes.plan_memory import ATTRIBUTE as WORKSPACE
from morello.passes.synthesize import add_schedule
from morello.runtime.code_cache import compile_cached
from morello.runtime.engine import Engine
from morello.runtime.runtime_calls import check_calls
from morello.runtime.translate import lower_to_llvm_text
from morello.search import Solution
from morello.search.queries.best_program import parallel_goal
from morello.spec import OpenSpec, Spec
from morello.spec.open_spec import print_open_spec

_SCHEDULED = "builtin.module(morello-apply-schedule,morello-lower-kernels)"
_PLANNED = "builtin.module(morello-plan-memory,morello-parallelize)"
"""`morello.compiler.stages.LOWER`, around the inlining of the parts."""

Progress = Callable[[str], None]
"""Told what is searched each time that a search begins: "2 of 9: matmul:…". Distinct
Specs are counted."""

Searched = tuple[Part, Spec, Solution]
"""A part, its Spec, and its program."""

Compiled = Searched | PlainPart
"""A step of a model: a part that was searched, or one that plain lowering computes."""


def searched_parts(
    tensors: Tensors,
    parts: Sequence[Step],
    machine: Target,
    threads: int,
    search: Searches,
    progress: Progress | None,
    pack: bool = False,
) -> tuple[list[Compiled], list[Packed]]:
    """The best program of each part that is a Spec; one without becomes several.

    Args:
        tensors: gets packed weights.
        parts: in order.
        machine: the target.
        threads: how many a part may use.
        search: the searches.
        progress: told of each.
        pack: leave the layouts of weights to the search.

    Returns:
        The programs, and the weights that are packed when they are known.

    Raises:
        SearchError: a part of one node has none.
    """
    known: dict[OpenSpec, tuple[Spec, Solution]] = {}
    tried: set[OpenSpec] = set()
    found: list[Compiled] = []
    weights: list[Packed] = []

    def goal(part: Part) -> OpenSpec:
        spec = parallel_goal(part.spec(machine.limits), machine, threads)[0]
        return OpenSpec(spec, opened(tensors, tuple(parts), part) if pack else ())

    rest = [(p, None if isinstance(p, PlainPart) else goal(p)) for p in parts]
    while rest:
        part, wanted = rest.pop(0)
        if isinstance(part, PlainPart):
            found.append(part)
            continue
        assert wanted is not None
        if wanted not in known:
            tried.add(wanted)
            later = {g for _, g in rest if g is not None} - tried
            search.left = 1 + len(later)
            if progress is not None:
                text = print_open_spec(wanted, machine.limits)
                progress(f"{len(tried)} of {len(tried) + len(later)}: {text}")
            try:
                known[wanted] = _searched(part, wanted, machine, search)
            except SearchError:
                smaller = split(tensors, part)
                if len(smaller) == 1:
                    raise
                rest[:0] = [(p, goal(p)) for p in smaller]
                continue
        spec, solution = known[wanted]
        part, made = packed(tensors, part, spec, wanted.open)
        weights += made
        found.append((part, spec, solution))
    return found, weights


def _searched(
    part: Part, goal: OpenSpec, machine: Target, search: Searches
) -> tuple[Spec, Solution]:
    """The best program of a part; of what lies as it should without other layouts.

    Raises:
        SearchError: there is none.
    """
    if part.is_laid_out:
        try:
            narrow = dataclasses.replace(machine, relayouts=False)
            return search.settle(goal, narrow)
        except SearchError:
            pass  # the larger space may have one
    return search.settle(goal, machine)


def compiled_parts(
    tensors: Tensors,
    found: Sequence[Compiled],
    machine: Target,
    search: Searches,
    start: float,
) -> tuple[Stages, Engine, Times]:
    """One function of all parts, loaded.

    Raises:
        CompileError: it cannot be lowered.
    """
    searched = [f for f in found if not isinstance(f, PlainPart)]
    impls = {spec: solution.impl for _, spec, solution in searched}
    name = _symbol(tensors.name)
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        pairs = [f if isinstance(f, PlainPart) else f[:2] for f in found]
        module = model_module(tensors, pairs, name, machine)
        schedule = ""
        if searched:
            add_schedule(module.operation, lambda op: impls[spec_of(op)])
            schedule = schedule_text(module)
        try:
            if searched:
                Pipeline.parse(_SCHEDULED).run(module.operation)
            function = inline_parts(module.operation, name)
            Pipeline.parse(_PLANNED).run(module.operation)
        except ir.MLIRError as error:
            raise CompileError(f"the model cannot be lowered: {error}") from error
        workspace = int(ir.IntegerAttr(function.attributes[WORKSPACE]).value)
        mlir = str(module)
        llvm = name_module(lower_to_llvm_text(module), name)
        check_calls(llvm, mathematics=len(searched) < len(found))
    features = ",".join(f"+{feature}" for feature in machine.features)
    engine = compile_cached(
        llvm, cpu=machine.cpu, features=features, folder=search.code
    )
    elapsed = time.perf_counter() - start
    times = Times(search.seconds, elapsed - search.seconds)
    every = tuple((spec, solution) for _, spec, solution in searched)
    cost = sum(solution.impl.cost for _, solution in every)
    stages = Stages(name, machine, every, schedule, mlir, llvm, workspace, cost)
    return stages, engine, times


def _symbol(name: str) -> str:
    """A name that C takes."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return f"model_{plain}"
