"""A1, A2, B1, B3 of graphs: named and random ones, between guard pages, within the
bound on rounding errors."""

import dataclasses
import random
from collections.abc import Callable, Sequence

import numpy as np

from morello.compiler.tuning.verify import BF16_ROUNDOFF
from morello.errors import SearchError
from morello.machine import AVX2, Target, find_target
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import Dtype, Spec, parse_spec
from morello.spec.graphs import canonical, print_graph
from tests.graphs.random_graphs import random_graph
from tests.quality.execution import RUNS, run
from tests.quality.programs import Program, build_programs
from tests.quality.walks import DeadEndError, random_program

SCHEDULES = 3
"""Programs for each graph."""

WIDE = find_target("avx512")

LARGEST = float(np.finfo(np.float32).max)

NAMES = {
    "softmax": 2,
    "log_softmax": 2,
    "layer_norm": 2,
    "rms_norm": 2,
    "gelu_matmul": 3,
    "residual_matmul": 3,
    "chain": 4,
    "attention": 4,
}
"""Short names, with how many sizes each takes."""

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)


def random_graph_spec(rng: random.Random) -> Spec:
    """A named graph at odd sizes, a convolution, or any graph."""
    draw = rng.random()
    if draw < 0.45:
        name = rng.choice([*NAMES])
        sizes = [rng.choice(SIZES) for _ in range(NAMES[name])]
        if sizes.index(max(sizes)) == len(sizes) - 1 and rng.random() < 0.4:
            sizes[-1] = rng.choice((31, 33, 65))
        causal = ":causal=true" if name == "attention" and rng.random() < 0.3 else ""
        text = f"{name}:{'x'.join(map(str, sizes))}:f32{causal}"
    elif draw < 0.65:
        text = _convolution(rng)
    else:
        graph = canonical(random_graph(rng)).graph
        sizes = [rng.choice(SIZES[:9]) for _ in range(graph.rank)]
        text = f"compose:{'x'.join(map(str, sizes))}:f32:graph={print_graph(graph)}"
    spec = parse_spec(text, AVX2.limits)
    return in_bf16(spec) if rng.random() < 0.2 else spec


def in_bf16(spec: Spec) -> Spec:
    """The same with inputs and maps in bf16; sums and maxima stay f32."""
    graph = spec.kind.as_graph
    if graph is None:
        return spec
    halved = [
        dataclasses.replace(tensor, dtype=Dtype.BF16)
        if not graph.is_node(value) or graph.is_map(value)
        else tensor
        for value, tensor in zip(spec.kind.values, spec.tensors, strict=True)
    ]
    return dataclasses.replace(spec, tensors=tuple(halved))


def _convolution(rng: random.Random) -> str:
    """With padding, steps, dilation and groups, in both layouts."""
    h, w = (rng.randint(5, 9) for _ in range(2))
    taps = rng.choice((1, 2, 3))
    channels, filters = rng.randint(1, 4), rng.randint(1, 9)
    options = [f"stride={rng.choice((1, 1, 2))}", f"pad={rng.choice((0, 1))}"]
    options.append(f"dilation={rng.choice((1, 1, 2))}")
    if rng.random() < 0.4:
        filters = channels
        options.append(f"groups={channels}")
    if rng.random() < 0.5:
        options.append("layout=nhwc")
    sizes = 1, channels, h, w, filters, taps, taps
    return f"conv:{'x'.join(map(str, sizes))}:f32:{':'.join(options)}"


def check_program(program: Program, seed: int) -> None:
    """Between guard pages; where the definition is no number of f32, anything is
    right.

    Raises:
        AssertionError: begins with the program's label.
    """
    spec = program.spec
    given = spec.random(np.random.default_rng(seed))
    exact = tuple(array.astype(np.float64) for array in given)
    with np.errstate(all="ignore"):
        wanted = spec.kind.reference(spec.sizes, exact)
        for side, byte in RUNS:
            found = run(program, given, side, byte)
            for array, (number, bound) in zip(found, wanted, strict=True):
                error = bound
                if array.dtype == Dtype.BF16.numpy:
                    error = bound + BF16_ROUNDOFF * (np.abs(number) + bound)
                known = (np.abs(number) < LARGEST) & np.isfinite(error)
                away = np.abs(array.astype(np.float64) - number)
                assert np.all((away <= error) | ~known), program.label


def check_graph_programs(seeds: Sequence[int]) -> int:
    """For each seed a graph and random programs of it; how many were run: a walk that
    finds no end gives none.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    return _check("graph_programs", seeds, _walked, SCHEDULES)


def check_searched_graphs(seeds: Sequence[int]) -> int:
    """For each seed a graph and the best program of it; how many were run: few have
    none.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    return _check("searched_graphs", seeds, _searched, 1)


def check_wide_graphs(seeds: Sequence[int]) -> int:
    """As `check_searched_graphs`, in vectors of 64 bytes.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    return _check("wide_graphs", seeds, _wide, 1, WIDE)


def _walked(spec: Spec, seed: int, number: int) -> Impl | None:
    try:
        return random_program(spec, random.Random(f"{seed} {number}"))
    except DeadEndError:
        return None


def _searched(spec: Spec, seed: int, number: int, target: Target = AVX2) -> Impl | None:
    try:
        own = dataclasses.replace(spec, limits=target.limits)
        return Solver(target.at(own)).solve(own).impl  # as it is replayed
    except SearchError:
        return None


def _wide(spec: Spec, seed: int, number: int) -> Impl | None:
    return _searched(spec, seed, number, WIDE)


Make = Callable[[Spec, int, int], Impl | None]
"""The program of a Spec, from a seed and the number of the program."""


def _check(
    name: str, seeds: Sequence[int], make: Make, count: int, target: Target = AVX2
) -> int:
    impls, labels, numbers = [], [], []
    for seed in seeds:
        spec = random_graph_spec(random.Random(f"graph {seed}"))
        label = f"python -m tests.soak {name} --count 1 --seed {seed}  # {spec}"
        for number in range(count):
            impl = make(spec, seed, number)
            if impl is not None:
                impls.append(impl)
                labels.append(label)
                numbers.append(seed)
    if impls:
        programs = build_programs(impls, labels, target)
        for program, seed in zip(programs, numbers, strict=True):
            check_program(program, seed)
    return len(impls)
