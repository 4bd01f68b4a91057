"""Each row of the table of functions computes by each name, through each front end."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.frontends.model import Model, trusted_model
from morello.spec.functions import ROWS, ElementFunction

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, np.dtype[Any]]
Named = list[tuple[str, str]]
"""Rows, each with one of its names in a language."""

INF, NAN = np.inf, np.nan

NUMBERS = np.asarray(
    [
        *(0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 3, -7.75, 1e-3, 0.999, -0.999),
        *(1e-42, -1e-30, 1e30, 20, -20, 88, -87, 2.0**24, INF, -INF, NAN),
    ],
    np.float32,
)
PAIRS = tuple(a.ravel() for a in np.meshgrid(NUMBERS, NUMBERS))

SIGNLESS = {
    *("floor_divide", "fmax", "fmin", "maximum", "minimum", "relu", "remainder"),
    *("sign", "trunc"),
}
"""Functions of which libraries have either zero."""

OTHERS = {"copysign", "exp2"}
"""Functions that `jax.numpy` computes by bits of integers, or less exactly by `exp`."""


def arguments_of(row: ElementFunction) -> tuple[Array, ...]:
    """The arguments that a function is computed of."""
    return {1: (NUMBERS,), 2: PAIRS, 3: (*PAIRS, PAIRS[1])}[row.count]


def named(field: str) -> Named:
    """The names of all rows in a language."""
    return [(key, name) for key, row in ROWS.items() for name in getattr(row, field)]


def check(names: Named, results: tuple[Array, ...]) -> None:
    """Compare results with the functions in f64, at NaN and infinities, too."""
    assert len(names) == len(results) > 0
    errors = []
    for (key, name), array in zip(names, results, strict=True):
        row = ROWS[key]
        with np.errstate(all="ignore"):
            wanted = row.exact(*(a.astype(np.float64) for a in arguments_of(row)))
            nearest = wanted.astype(np.float32)
            size = np.where(np.isfinite(nearest), np.abs(wanted), 0)
            bound = (1.5 * row.ulps * 2**-23 + row.relative) * size + row.least
            off = np.abs(np.asarray(array, np.float64) - wanted)
        same = (array == nearest) | (np.isnan(array) & np.isnan(nearest))
        if key not in SIGNLESS:
            same &= (nearest != 0) | (np.signbit(array) == np.signbit(nearest))
            off = np.where((nearest == 0) & (array == 0), INF, off)
        wrong = np.flatnonzero(~same & ~(off <= bound))
        shown = [
            (*(a[i] for a in arguments_of(row)), array[i], wanted[i]) for i in wrong
        ]
        errors += [f"{key} as {name}: {shown[:3]}"] if shown else []
    assert not errors, "\n".join(errors)


def evaluated(model: Model) -> tuple[Array, ...]:
    """The results of a program of `NUMBERS` and `PAIRS`, all of it in graphs."""
    assert not model.fallback, "\n".join(map(str, model.fallback))
    return tuple(model.evaluate(NUMBERS, *PAIRS))


def module_of(names: Named, lines: Callable[[int, str, int, str], str]) -> str:
    """A function of MLIR that returns each of some functions.

    Args:
        lines: the code of one: its place, its name, the number of its arguments, and
            the type of these and of the result.
    """
    one, two = (f"tensor<{len(a)}xf32>" for a in (NUMBERS, PAIRS[0]))
    counts = [ROWS[key].count for key, _ in names]
    kinds = [one if count == 1 else two for count in counts]
    body = "\n".join(
        lines(place, name, count, kind)
        for place, ((_, name), count, kind) in enumerate(
            zip(names, counts, kinds, strict=True)
        )
    )
    return f"""func.func @f(%n: {one}, %a: {two}, %b: {two}) -> ({", ".join(kinds)}) {{
{body}
  return {", ".join(f"%r{i}" for i in range(len(names)))} : {", ".join(kinds)}
}}"""


def arguments(count: int) -> str:
    return {1: "%n", 2: "%a, %b", 3: "%a, %b, %b"}[count]


def generic(place: int, name: str, count: int, kind: str) -> str:
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (count + 1))
    inner = [f"%x{i}" for i in range(count)]
    return f"""  %e{place} = tensor.empty() : {kind}
  %r{place} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({arguments(count)} : {", ".join([kind] * count)}) outs(%e{place} : {kind}) {{
    ^bb0({", ".join(f"{x}: f32" for x in inner)}, %o: f32):
      %v = {name} {", ".join(inner)} : f32
      linalg.yield %v : f32
  }} -> {kind}"""


def stablehlo(place: int, name: str, count: int, kind: str) -> str:
    kinds = ", ".join([kind] * count)
    return f'  %r{place} = "{name}"({arguments(count)}) : ({kinds}) -> {kind}'


@pytest.mark.parametrize(
    ("field", "lines"), [("mlir", generic), ("stablehlo", stablehlo)]
)
def test_ops_of_mlir(field: str, lines: Callable[[int, str, int, str], str]) -> None:
    names = named(field)
    check(names, evaluated(morello.from_mlir(module_of(names, lines))))


def test_operators_of_onnx() -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("torch_mlir", reason="torch-mlir is not installed")
    from tests.onnx.models import model, node

    names, nodes, results = named("onnx"), [], {}
    for place, (key, name) in enumerate(names):
        row, result = ROWS[key], f"r{place}"
        inputs = ["n"] if row.count == 1 else ["a", "b"]
        dtype = onnx.TensorProto.FLOAT  # also of truths
        nodes.append(node(name, inputs, [f"v{place}"]))
        nodes.append(node("Cast", [f"v{place}"], [result], to=dtype))
        results[result] = (len(arguments_of(row)[0]),)
    arrays = zip("nab", (NUMBERS, *PAIRS), strict=True)
    proto = model(nodes, {name: (len(array),) for name, array in arrays}, results)
    check(names, evaluated(morello.from_onnx(proto.SerializeToString())))


def test_ops_of_aten() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    lowering = importlib.import_module("morello.torch.lowering")
    ops = importlib.import_module("morello.torch.ops")
    names = named("aten")
    resolved = [ops.overload(name) for _, name in names]
    assert {*resolved} <= ops.KNOWN

    def function(n: Any, a: Any, b: Any) -> list[Any]:
        arguments = ((n,) if ROWS[key].count == 1 else (a, b) for key, _ in names)
        return [
            op(*operands).to(torch.float32)
            for op, operands in zip(resolved, arguments, strict=True)
        ]

    tensors = [torch.from_numpy(array) for array in (NUMBERS, *PAIRS)]
    make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx
    graph = lowering.lowered(make_fx(function)(*tensors), tensors)
    check(names, evaluated(trusted_model(lowering.linalg_bytecode(graph))))


def _of_numpy(functions: list[Any], names: Named) -> Callable[..., Any]:
    def function(n: Any, a: Any, b: Any) -> tuple[Any, ...]:
        arguments = ((n,) if ROWS[key].count == 1 else (a, b) for key, _ in names)
        results = (
            f(*operands) for f, operands in zip(functions, arguments, strict=True)
        )
        return tuple(result.astype(np.float32) for result in results)

    return function


def test_functions_of_numpy() -> None:
    names = named("numpy")
    function = _of_numpy([name for _, name in names], names)
    arrays = (NUMBERS, *PAIRS)
    results = morello.trace(function, *arrays).evaluate(*arrays)
    check(names, tuple(np.asarray(result) for result in results))


def test_functions_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    names = [(key, f.__name__) for key, f in named("numpy") if key not in OTHERS]
    functions = [getattr(jax.numpy, name) for _, name in names]
    lowered = jax.jit(_of_numpy(functions, names)).lower(NUMBERS, *PAIRS)
    check(names, evaluated(morello.from_mlir(str(lowered.compiler_ir()))))
