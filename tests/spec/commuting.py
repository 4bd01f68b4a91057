"""Further computations, and arrays that swap the operands of what commutes.

Functions take a module that has NumPy's names, and arrays: `Swapping` and `Recording`
are such modules.
"""

import itertools
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.tables import rows

Shape = tuple[int, ...]

M, N = (8, 33), (33,)
ROW = (8, 1)
MATRICES = (8, 16), (16, 32)


def sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def softplus(xp: Any, x: Any) -> Any:
    return xp.log1p(xp.exp(x))


def total(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=-1)


def mean(xp: Any, x: Any) -> Any:
    return xp.mean(x, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, g: Any, b: Any) -> Any:
    c = x - mean(xp, x)
    return c * (1 / xp.sqrt(mean(xp, c * c) + 1e-5)) * g + b


def rms_norm(xp: Any, x: Any, g: Any) -> Any:
    return x / xp.sqrt(mean(xp, x * x) + 1e-5) * g


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def attention(xp: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) * (1 / 7)
    return xp.matmul(softmax(xp, scores + mask), v)


def huber(xp: Any, a: Any, b: Any) -> Any:
    d = xp.abs(a - b)
    m = xp.minimum(d, 1.0)
    return m * (d - 0.5 * m)


def hard_swish(xp: Any, x: Any) -> Any:
    return x * xp.minimum(xp.maximum(x * (1 / 6) + 0.5, 0.0), 1.0)


def cosine(xp: Any, a: Any, b: Any) -> Any:
    return total(xp, a * b) / xp.sqrt(total(xp, a * a) * total(xp, b * b))


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Shape, ...]]] = {
    name: (eval(function), eval(shapes))
    for name, function, shapes in rows(__file__, "commuting")
}
"""A function, and the shapes of its arguments."""

NO_ONNX = frozenset({"mish", "log of a sum", "entropy of logits"})
"""Functions of `log1p`, which ONNX does not have: log(1 + x) rounds in another way."""


class Swapping:
    """The names of a module on `Swapped` arrays.

    Args:
        module: NumPy, or another with its names.
        seed: of which operands are swapped.
    """

    def __init__(self, module: Any, seed: int) -> None:
        self._module = module
        self._random = random.Random(seed)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._module, name)

        def call(*operands: Any, **options: Any) -> Any:
            plain = [getattr(operand, "array", operand) for operand in operands]
            if name in ("maximum", "minimum"):
                plain = self.in_any_order(plain)
            return Swapped(function(*plain, **options), self)

        return call

    def in_any_order(self, operands: list[Any]) -> list[Any]:
        return operands if self._random.random() < 0.5 else operands[::-1]


class Swapped:
    """An array whose sums and products have their operands in any order."""

    __array_ufunc__ = None

    def __init__(self, array: Any, module: Swapping) -> None:
        self.array = array
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.array, name)
        if name == "shape":
            return value
        if callable(value):
            return lambda *axes, **options: Swapped(
                value(*axes, **options), self._module
            )
        return Swapped(value, self._module)


def _operator(name: str, commutes: bool, reflected: bool) -> Callable[..., Any]:
    function = getattr(operator, name)

    def call(self: Any, *others: Any) -> Any:
        operands = [self.array, *(getattr(o, "array", o) for o in others)]
        if commutes:
            operands = self._module.in_any_order(operands)
        elif reflected:
            operands.reverse()
        return Swapped(function(*operands), self._module)

    return call


for _name in (
    *("add", "mul", "sub", "truediv", "neg", "pow", "matmul"),
    *("lt", "gt", "getitem"),
):
    _commutes = _name in ("add", "mul")
    setattr(Swapped, f"__{_name}__", _operator(_name, _commutes, False))
    setattr(Swapped, f"__r{_name}__", _operator(_name, _commutes, True))


def swapped(function: Callable[..., Any], seed: int) -> Callable[..., Any]:
    """A function with operands in any order."""

    def call(xp: Any, *arrays: Any) -> Any:
        module = Swapping(xp, seed)
        return function(module, *(Swapped(array, module) for array in arrays)).array

    return call


class Recording:
    """NumPy's names, which record nodes of ONNX."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self._numbers = itertools.count()

    def node(self, op: str, *operands: Any, **attributes: Any) -> "Recorded":
        reads = [self._name(operand) for operand in operands]
        result = f"t{next(self._numbers)}"
        self.nodes.append((op, reads, result, attributes))
        return Recorded(result, self)

    def _name(self, operand: Any) -> str:
        if isinstance(operand, Recorded):
            return operand.name
        if isinstance(operand, list):
            return self.node("Constant", value_ints=operand).name
        return self.node("Constant", value_float=float(operand)).name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        ops = {"maximum": "Max", "minimum": "Min", "matmul": "MatMul"}
        reductions = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax"}
        if name in reductions:
            return lambda x, axis, keepdims=False: self.node(
                reductions[name], x, [axis], keepdims=int(keepdims)
            )
        if name == "swapaxes":  # of the last two of three
            return lambda x, *_: self.node("Transpose", x, perm=[0, 2, 1])
        return lambda *x: self.node(ops.get(name, name.capitalize()), *x)


class Recorded:
    """A value of a program of ONNX."""

    __array_ufunc__ = None

    def __init__(self, name: str, module: Recording) -> None:
        self.name = name
        self._module = module


def _recorded(op: str, reflected: bool) -> Callable[..., Any]:
    def call(self: Any, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        return self._module.node(op, *operands)

    return call


for _name, _op in {"add": "Add", "mul": "Mul", "sub": "Sub", "truediv": "Div"}.items():
    setattr(Recorded, f"__{_name}__", _recorded(_op, False))
    setattr(Recorded, f"__r{_name}__", _recorded(_op, True))
Recorded.__neg__ = _recorded("Neg", False)


def onnx_program(function: Callable[..., Any], shapes: tuple[Shape, ...]) -> Any:
    """A function as a program of ONNX, which needs the package."""
    from tests.onnx.models import model, node

    module = Recording()
    names = [f"x{i}" for i in range(len(shapes))]
    result = function(module, *(Recorded(name, module) for name in names))
    nodes = [
        node(op, reads, [to], **attributes)
        for op, reads, to, attributes in module.nodes
    ]
    inputs = dict(zip(names, shapes, strict=True))
    return model(nodes, inputs, {result.name: None}, opset=18).SerializeToString()


def torch_program(function: Callable[..., Any], shapes: tuple[Shape, ...]) -> str:
    """A function as linalg, as torch-mlir writes it."""
    import torch
    from torch_mlir import fx

    class Names:
        """NumPy's names of PyTorch's functions."""

        swapaxes = staticmethod(torch.swapaxes)

        def __getattr__(self, name: str) -> Any:
            if name in ("maximum", "minimum"):
                of = {"maximum": "clamp_min", "minimum": "clamp_max"}[name]
                whole, limit = getattr(torch, name), getattr(torch, of)
                return lambda a, b: (
                    whole(a, b)
                    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
                    else limit(*((a, b) if isinstance(a, torch.Tensor) else (b, a)))
                )
            if name == "max":
                return lambda x, axis, keepdims=False: torch.amax(x, axis, keepdims)
            return getattr(torch, name)

    class Module(torch.nn.Module):
        def forward(self, *arrays: Any) -> Any:
            return function(Names(), *arrays)

    arrays = [torch.from_numpy(np.zeros(shape, np.float32)) for shape in shapes]
    return str(fx.export_and_import(Module(), *arrays, output_type="linalg-on-tensors"))
