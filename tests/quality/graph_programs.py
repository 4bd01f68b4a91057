"""A1, A2, B1, B3 of graphs: named and random ones, between guard pages, within the
bound on rounding errors; to the last bit where nothing rounds."""

import dataclasses
import math
import random
from collections.abc import Callable, Sequence

import numpy as np

from morello.errors import SearchError
from morello.machine import AVX2, Target, find_target
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import Dtype, Spec, parse_spec, print_spec
from morello.spec.checking import EXACT_BOUND, reference, small_integers
from morello.spec.elements.casts import stored_error
from morello.spec.elements.dtypes import FLOATS
from morello.spec.functions import BINARY, UNARY
from morello.spec.functions.running_errors import UNIT_ROUNDOFF
from morello.spec.graphs import canonical, print_graph
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.names import SHORT_NAMES
from morello.spec.mixes import legal_mixes
from morello.spec.text.labels import REDUCTIONS
from tests.graphs.random_graphs import random_graph
from tests.quality.execution import RUNS, check_exact, run
from tests.quality.programs import Program, build_programs
from tests.quality.walks import DeadEndError, random_program

SCHEDULES = 3
"""Programs for each graph."""

WIDE = find_target("avx512")

LARGEST = float(np.finfo(np.float32).max)

NAMES = (*SHORT_NAMES, *REDUCTIONS, *sorted(UNARY.keys() - {"copy"}), *BINARY)
"""Every name of a graph, a reduction of any rank, or a map."""

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)


def random_graph_spec(seed: int) -> Spec:
    """For even seeds the names in turn, at odd sizes, each a round in every float
    dtype; else a convolution, a graph with several products, or any graph."""
    rng = random.Random(f"graph {seed}")
    spec = parse_spec(random_text(seed, rng), AVX2.limits)
    if seed % 2:
        dtype = rng.choice(FLOATS) if rng.random() < 0.4 else Dtype.F32
    else:
        dtype = FLOATS[seed // 2 // len(NAMES) % len(FLOATS)]
    return spec if dtype is Dtype.F32 else in_narrow(spec, dtype)


def random_text(seed: int, rng: random.Random) -> str:
    """The text of a Spec in f32."""
    if seed % 2 == 0:
        return _named(NAMES[seed // 2 % len(NAMES)], rng)
    draw = rng.random()
    if draw < 0.3:
        return _convolution(rng)
    if draw < 0.5:
        return _named(rng.choice(("attention", "chain", "gelu_matmul")), rng)
    graph = canonical(random_graph(rng)).graph
    sizes = [rng.choice(SIZES[:9]) for _ in range(graph.rank)]
    return f"compose:{'x'.join(map(str, sizes))}:f32:graph={print_graph(graph)}"


def _named(name: str, rng: random.Random) -> str:
    """A name, with the options that it takes."""
    if name == "conv":
        return _convolution(rng)
    if name not in SHORT_NAMES:
        return _of_any_rank(name, rng)
    sizes = [rng.choice(SIZES) for _ in SHORT_NAMES[name].dims]
    if name == "attention":  # heads are few
        sizes[0] = min(sizes[0], rng.choice((1, 2, 3)))
    if sizes.index(max(sizes)) == len(sizes) - 1 and rng.random() < 0.4:
        sizes[-1] = rng.choice((31, 33, 65))
    option = ""
    if name == "attention" and rng.random() < 0.3:
        option = ":causal=true"
    if name == "gelu_matmul" and rng.random() < 0.5:
        option = ":gelu=erf"
    return f"{name}:{'x'.join(map(str, sizes))}:f32{option}"


def _of_any_rank(name: str, rng: random.Random) -> str:
    """A reduction along any axes, or a map."""
    rank = rng.randint(1, 4)
    sizes = "x".join(str(rng.choice(SIZES[: 11 - 2 * rank])) for _ in range(rank))
    if name not in REDUCTIONS:
        return f"{name}:{sizes}:f32"
    along = sorted(rng.sample(range(rank), rng.randint(1, rank)))
    axes = "all" if len(along) == rank else ",".join(map(str, along))
    return f"{name}:{sizes}:f32:axis={axes}"


def in_narrow(spec: Spec, dtype: Dtype) -> Spec:
    """A Spec with inputs and maps in a narrow float; sums and maxima stay f32."""
    kind, graph = spec.kind, spec.kind.as_graph
    if graph is None:  # a reduction by itself is no kind of a narrow float
        whole = (dtype,) * len(spec.tensors)
        dtypes = whole if whole in legal_mixes(kind) else spec.dtypes
    else:
        dtypes = tuple(
            dtype if not graph.is_node(v) or graph.is_map(v) else Dtype.F32
            for v in kind.values
        )
    tensors = tuple(
        dataclasses.replace(tensor, dtype=stored)
        for tensor, stored in zip(spec.tensors, dtypes, strict=True)
    )
    return dataclasses.replace(spec, tensors=tensors)


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
    sizes = rng.choice((1, 1, 2)), channels, h, w, filters, taps, rng.choice((1, taps))
    return f"conv:{'x'.join(map(str, sizes))}:f32:{':'.join(options)}"


def check_program(program: Program, seed: int) -> None:
    """Between guard pages; where the definition is no number of f32, anything is
    right. On small integers all bits are those of the definition, where none rounds.

    Raises:
        AssertionError: begins with the program's label.
    """
    spec = program.spec
    rng = np.random.default_rng(seed)
    inputs = spec.random(rng)
    if spec.kind.as_graph is None:
        check_exact(program, inputs)
        return
    exact = tuple(array.astype(np.float64) for array in inputs)
    with np.errstate(all="ignore"):
        wanted = reference(spec.kind, spec.sizes, exact)
        for side, byte in RUNS:
            results = run(program, inputs, side, byte)
            for out, array, (number, bound) in zip(
                spec.kind.written, results, wanted, strict=True
            ):
                error = stored_error(number, bound, spec.dtypes[out])
                known = (np.abs(number) < LARGEST) & np.isfinite(error)
                away = np.abs(array.astype(np.float64) - number)
                assert np.all((away <= error) | ~known), program.label
    if rounds_no_integer(spec):
        _check_integers(program, rng)


def _check_integers(program: Program, rng: np.random.Generator) -> None:
    spec = program.spec
    inputs = tuple(
        small_integers(rng, spec.dtypes[i], spec.shape(i))
        for i, operand in enumerate(spec.kind.operands)
        if operand.is_read
    )
    wanted = spec.outputs(*inputs)
    for side, byte in RUNS:
        results = run(program, inputs, side, byte)
        for array, right in zip(results, wanted, strict=True):
            # Of zeros either: a sum of none but -0 depends on where it starts.
            assert np.array_equal(array, right), f"{program.label}: integers differ"


def rounds_no_integer(spec: Spec) -> bool:
    """Whether no step rounds where inputs are integers of `small_integers`, whatever
    the order of sums."""
    graph = spec.kind.as_graph
    assert graph is not None
    most: dict[int, float] = dict.fromkeys(range(len(graph.inputs)), EXACT_BOUND)
    for value in graph.node_values:
        node = graph.node(value)
        size = _size(node.expression, most)
        if node.reduction == "sum":
            size = size * math.prod(spec.sizes[dim] for dim in node.reduced)
        most[value] = size + EXACT_BOUND  # what an output held before
    return max(most.values()) < 1 / UNIT_ROUNDOFF


def _size(expression: Expression, most: dict[int, float]) -> float:
    """What an integer expression has at most; infinite for what is none."""
    match expression:
        case Reference(value):
            return most[value]
        case Constant(number):
            return abs(number) if number == int(number) else math.inf
        case Call(name, arguments):
            sizes = [_size(argument, most) for argument in arguments]
            if name in ("add", "sub"):
                return sum(sizes)
            if name in ("mul", "square"):
                return sizes[0] * sizes[-1]
            bounded = ("abs", "copy", "maximum", "minimum", "neg", "relu")
            return max(sizes) if name in bounded else math.inf
    raise TypeError(f"{expression} is no expression")


def check_graph_programs(seeds: Sequence[int]) -> int:
    """For each seed a graph and random programs of it; how many were run: a walk that
    finds no end gives none.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    return check("graph_programs", seeds, walked, SCHEDULES)


def check_searched_graphs(seeds: Sequence[int]) -> int:
    """For each seed a graph and the best program of it; how many were run: few have
    none.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    return check("searched_graphs", seeds, searched, 1)


def check_wide_graphs(seeds: Sequence[int]) -> int:
    """As `check_searched_graphs`, in vectors of 64 bytes.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    return check("wide_graphs", seeds, _wide, 1, WIDE)


def walked(spec: Spec, seed: int, number: int) -> Impl | None:
    """A random program; None where the walk finds no end."""
    try:
        return random_program(spec, random.Random(f"{seed} {number}"))
    except DeadEndError:
        return None


def searched(spec: Spec, seed: int, number: int, target: Target = AVX2) -> Impl | None:
    """The best program; None where there is none."""
    try:
        whole = dataclasses.replace(spec, limits=target.limits)
        return Solver(target.at(whole)).solve(whole).impl  # as it is replayed
    except SearchError:
        return None


def _wide(spec: Spec, seed: int, number: int) -> Impl | None:
    return searched(spec, seed, number, WIDE)


Make = Callable[[Spec, int, int], Impl | None]
"""The program of a Spec, from a seed and the number of the program."""


def check(
    name: str,
    seeds: Sequence[int],
    make: Make,
    count: int,
    target: Target = AVX2,
    draw: Callable[[int], Spec] = random_graph_spec,
) -> int:
    """For each seed the Spec that is drawn and so many programs of it.

    Raises:
        AssertionError: begins with the command of the soak, by its name.
    """
    impls, labels, numbers = [], [], []
    for seed in seeds:
        spec = draw(seed)
        label = f"python -m tests.soak {name} --count 1 --seed {seed}"
        label = f"{label}  # {print_spec(spec, target.limits)}"
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
