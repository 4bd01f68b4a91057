"""Functions of elements and norms that torch-mlir computes with less care, by rules of
`expanded`: without overflow of what is finite, without digits that cancel, with
NaN where an operand is NaN."""

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules

_LARGEST = float(np.finfo(np.float32).max)


def sign(to: Expansion, node: Arguments) -> Results:
    """-1, 0 or 1; NaN stays."""
    x = node.input(0)
    return [to.op("Where", to.op("IsNaN", x), x, to.op("Sign", x))]


def equal(to: Expansion, node: Arguments) -> Results:
    """Replaces a float's comparison with itself by a test that it is not NaN."""
    x = node.input(0)
    if x != node.input(1) or to.dtype(x).kind != "f":
        return None
    return [to.op("Not", to.op("IsNaN", x))]


def _below_zero(to: Expansion, x: str) -> str:
    """eˣ - 1 where x is negative: 2t / (1 - t), of which no digits cancel, where t is
    tanh(x / 2)."""
    t = to.op("Tanh", to.op("Mul", x, to.number(0.5)))
    return to.op("Div", to.op("Add", t, t), to.op("Sub", to.number(1.0), t))


def _exponential_unit(
    to: Expansion, x: str, alpha: float, divided: float = 1.0, gamma: float = 1.0
) -> str:
    """gamma · x, or gamma · alpha · (exp(x / divided) - 1) where x is negative."""
    inner = x if divided == 1 else to.op("Mul", x, to.number(1 / divided))
    below = to.op("Mul", _below_zero(to, inner), to.number(alpha * gamma))
    above = x if gamma == 1 else to.op("Mul", x, to.number(gamma))
    return to.op("Where", to.op("Less", x, to.number(0.0)), below, above)


def leaky_relu(to: Expansion, node: Arguments) -> Results:
    """A choice: the importer's sum is NaN where a slope is infinite."""
    x, slope = node.input(0), node.get("alpha", 0.01)
    if np.isfinite(slope):
        return None
    below = to.op("Mul", x, to.number(slope))
    return [to.op("Where", to.op("Less", x, to.number(0.0)), below, x)]


def elu(to: Expansion, node: Arguments) -> Results:
    """x, or alpha · (eˣ - 1) where x is negative."""
    return [_exponential_unit(to, node.input(0), node.get("alpha", 1.0))]


def celu(to: Expansion, node: Arguments) -> Results:
    """x, or alpha · (exp(x / alpha) - 1) where x is negative; by the standard NaN for
    an infinite alpha."""
    alpha = node.get("alpha", 1.0)
    if not 0 < alpha < np.inf:
        return None
    return [_exponential_unit(to, node.input(0), alpha, alpha)]


def selu(to: Expansion, node: Arguments) -> Results:
    """gamma times an ELU."""
    alpha = node.get("alpha", 1.6732632423543772)
    gamma = node.get("gamma", 1.0507009873554805)
    return [_exponential_unit(to, node.input(0), alpha, gamma=gamma)]


def log_sum_exp(to: Expansion, node: Arguments) -> Results:
    """The logarithm of a sum of powers, which are divided by the largest one."""
    x = node.input(0)
    axes = axes_of(to, node)
    if not axes:
        return [x]
    most = to.reduced("ReduceMax", x, axes)
    # An infinite one would leave NaN.
    shift = to.op("Min", to.op("Max", most, to.number(-_LARGEST)), to.number(_LARGEST))
    powers = to.op("Exp", to.op("Sub", x, shift))
    logarithm = to.op("Log", to.reduced("ReduceSum", powers, axes))
    return [without(to, node, to.op("Add", logarithm, shift), axes)]


def axes_of(to: Expansion, node: Arguments) -> list[int]:
    """The axes of a reduction."""
    shape = to.shape(node.input(0))
    node.get("keepdims", 1)
    axes = node.get("axes", None)
    is_noop = node.get("noop_with_empty_axes", 0)
    if node.input(1):
        axes = to.known(node.input(1))
    if axes is None or not len(axes):
        return [] if is_noop else list(range(len(shape)))
    return [int(axis) % len(shape) for axis in axes]


def without(to: Expansion, node: Arguments, value: str, axes: list[int]) -> str:
    """A reduction without the axes that it was along, if it has them no more."""
    if node.get("keepdims", 1):
        return value
    shape = to.shape(node.input(0))
    return to.reshape(value, *(n for i, n in enumerate(shape) if i not in axes))


def unreduced(to: Expansion, node: Arguments) -> Results:
    """The function of each element that a reduction along no axes leaves, for which
    torch-mlir crashes."""
    if axes_of(to, node) != []:
        return None
    return [to.op({"ReduceL2": "Abs", "ReduceLogSum": "Log"}[node.kind], node.input(0))]


def extreme(to: Expansion, node: Arguments) -> Results:
    """The greatest or least element along several neighbouring axes as one axis, where
    torch-mlir reduces one after the other."""
    x, axes = node.input(0), axes_of(to, node)
    shape = to.shape(x)
    if len(axes) < 2:
        return None
    first, last = min(axes), max(axes) + 1
    if last - first != len(set(axes)):
        return None
    flat = to.reshape(x, *shape[:first], -1, *shape[last:])
    result = to.reduced(node.kind, flat, [first])
    sizes = [1 if first <= i < last else n for i, n in enumerate(shape)]
    return [without(to, node, to.reshape(result, *sizes), axes)]


def lp_normalization(to: Expansion, node: Arguments) -> Results:
    """A vector by its norm; 0 stays 0."""
    x, p = node.input(0), node.get("p", 2)
    shape = to.shape(x)
    if p not in (1, 2):
        return None
    norm = to.reduced(f"ReduceL{p}", x, [node.get("axis", -1) % len(shape)])
    is_zero = to.op("Equal", norm, to.number(0.0))
    return [to.op("Div", x, to.op("Where", is_zero, to.number(1.0), norm))]


def group_normalization(to: Expansion, node: Arguments) -> Results:
    """Groups of channels less their mean, over their deviation: not of the mean of
    squares, which has few digits where the mean is large."""
    x, groups = node.input(0), node.get("num_groups", 0)
    shape = to.shape(x)
    count = to.shape(node.input(1))
    if not groups or shape[1] % groups:
        return None
    apart = to.reshape(x, shape[0], groups, -1)
    centred = to.op("Sub", apart, to.mean(apart, [2]))
    variance = to.mean(to.op("Mul", centred, centred), [2])
    above = to.op("Add", variance, to.number(node.get("epsilon", 1e-5)))
    y = to.reshape(to.op("Div", centred, to.op("Sqrt", above)), *shape)
    factors = []
    for place in (1, 2):
        factor = node.input(place)
        if count[0] != shape[1]:  # of each group, in version 18
            wide = to.op(
                "Expand",
                to.reshape(factor, groups, 1),
                to.numbers(groups, shape[1] // groups),
            )
            factor = to.reshape(wide, -1)
        factors.append(to.reshape(factor, 1, shape[1], *[1] * (len(shape) - 2)))
    return [to.op("Add", to.op("Mul", y, factors[0]), factors[1])]


def gemm(to: Expansion, node: Arguments) -> Results:
    """A product times 0, for which torch-mlir takes 1, or times a number where nothing
    is added: it leaves that out."""
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    if alpha and (alpha == 1 or node.input(2)):
        return None
    sides = [
        to.op("Transpose", node.input(place), perm=[1, 0])
        if node.get(name, 0)
        else node.input(place)
        for place, name in enumerate(("transA", "transB"))
    ]
    y = to.op("Mul", to.op("MatMul", *sides), to.number(alpha))
    if not node.input(2) or not beta:
        return [y]
    return [to.op("Add", y, to.op("Mul", node.input(2), to.number(beta)))]


_MOST_ROWS = 4
"""The greatest matrix whose determinant is written out has so many rows."""


def determinant(to: Expansion, node: Arguments) -> Results:
    """The sum of products along a row with the determinants of the rest: torch-mlir
    eliminates without a pivot.

    Raises:
        CompileError: a matrix is too large for that.
    """
    x = node.input(0)
    shape = to.shape_if_known(x)
    if shape is None or shape[-1] > _MOST_ROWS:
        raise CompileError(
            f"{node.name} (onnx.Det) is of matrices of "
            f"{'?' if shape is None else shape[-1]} rows, and at most {_MOST_ROWS} are "
            "written out",
            "compute it outside of the model",
        )
    size = shape[-1]
    flat = to.reshape(x, -1, size, size)
    entries = [
        [
            to.cut(to.cut(flat, row, row + 1, axis=1), column, column + 1, axis=2)
            for column in range(size)
        ]
        for row in range(size)
    ]
    return [to.reshape(_minor(to, entries), *shape[:-2])]


def _minor(to: Expansion, entries: list[list[str]]) -> str:
    first, *rest = entries
    if not rest:
        return first[0]
    total = ""
    for column, entry in enumerate(first):
        others = [row[:column] + row[column + 1 :] for row in rest]
        term = to.op("Mul", entry, _minor(to, others))
        total = to.op("Sub" if column % 2 else "Add", total, term) if total else term
    return total


def remainder(to: Expansion, node: Arguments) -> Results:
    """The exact remainder of floats, with the sign of the dividend, or, without
    ``fmod``, of the divisor.

    It comes from that of the absolute values, for which torch-mlir computes no
    quotient.
    """
    x, y = node.input(0), node.input(1)
    rest = to.op("Mod", to.op("Abs", x), to.op("Abs", y))
    zero = to.number(0.0)
    signed = to.op("Where", to.op("Less", x, zero), to.op("Neg", rest), rest)
    rest = to.op("Where", to.op("Equal", x, zero), to.op("Sub", x, rest), signed)
    if node.get("fmod", 0):
        return [rest]
    is_negative = to.op("Less", y, zero)
    differs = to.op("Xor", to.op("Less", rest, zero), is_negative)
    moved = to.op("Where", differs, to.op("Add", rest, y), rest)
    of_none = to.op("Where", is_negative, to.number(-0.0), zero)
    return [to.op("Where", to.op("Equal", rest, zero), of_none, moved)]


RULES: Rules = {
    "Celu": celu,
    "Det": determinant,
    "Elu": elu,
    "LeakyRelu": leaky_relu,
    "Equal": equal,
    "Gemm": gemm,
    "GroupNormalization": group_normalization,
    "LpNormalization": lp_normalization,
    "ReduceL2": unreduced,
    "ReduceLogSum": unreduced,
    "ReduceLogSumExp": log_sum_exp,
    "ReduceMax": extreme,
    "ReduceMin": extreme,
    "Selu": selu,
    "Sign": sign,
}
