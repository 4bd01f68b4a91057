"""Cases of NumPy's indices, shapes, choices and constants."""

import numpy as np

from tests.conformance.arguments import Case, between, case, normal

_X = normal(4, 5)


def cases() -> dict[str, Case]:
    """All cases by name."""
    return _choices() | _indices() | _shapes() | _joins() | _operators() | _results()


def _choices() -> dict[str, Case]:
    return {
        "clip": case(lambda x: np.clip(x, -0.5, 0.5), _X),
        "clip method": case(lambda x: x.clip(0, 1), _X),
        "clip arrays": case(lambda x, a: np.clip(x, a, a + 1), _X, _X),
        "where two": case(lambda c, a, b: np.where(c > 0, a, b), _X, _X, _X),
        "where nested": case(lambda x: np.where(x > 1, 1, np.where(x < -1, -1, x)), _X),
        "select": case(lambda x: np.select([x > 1, x < -1], [x, -x], 0), _X),
        "isclose": case(np.isclose, _X, _X),
        "tril": case(np.tril, normal(5, 5)),
        "triu": case(lambda x: np.triu(x, 1), _X),
    }


def _indices() -> dict[str, Case]:
    return {
        "boolean index": case(lambda x: x[x > 0], normal(9)),
        "index row": case(lambda x: x[1], _X),
        "index negative": case(lambda x: x[-1, 2:], _X),
        "index of computed": case(lambda x: (x * 2)[1:, :-1] + 1, _X),
        "slice step": case(lambda x: x[::2, 1::2], normal(5, 6)),
        "slice back": case(lambda x: x[::-1], normal(5, 6)),
        "newaxis": case(lambda x: x[:, None] - x[None, :], normal(5)),
        "ellipsis": case(lambda x: x[..., 0], normal(2, 3, 4)),
        "take": case(lambda x: x[[2, 0, 1]], _X),
        "fancy pair": case(lambda x: x[[0, 1, 2], [2, 1, 0]], _X),
        "take_along_axis": case(
            lambda x: np.take_along_axis(x, np.argsort(x, 1), 1), _X
        ),
        "diagonal": case(np.diagonal, normal(5, 5)),
        "diag": case(np.diag, normal(5)),
        "empty": case(lambda x: x[:0] * 2, _X),
    }


def _shapes() -> dict[str, Case]:
    cube = normal(2, 3, 4)
    return {
        "broadcast outer": case(
            lambda a, b: a[:, None] * b[None, :], normal(4), normal(5)
        ),
        "broadcast 3": case(
            lambda a, b: a[:, None, :] + b[None], normal(3, 5), normal(4, 5)
        ),
        "broadcast_to": case(lambda x: np.broadcast_to(x, (3, 5)) + 1, normal(5)),
        "transposed": case(lambda x: x.T + 1, _X),
        "transpose axes": case(lambda x: np.transpose(x, (2, 0, 1)) * 2, cube),
        "swapaxes": case(lambda x: np.swapaxes(x, 0, 2), cube),
        "moveaxis": case(lambda x: np.moveaxis(x, 0, -1), cube),
        "rollaxis": case(lambda x: np.rollaxis(x, 2), cube),
        "reshape": case(lambda x: x.reshape(4, -1) + 1, cube),
        "reshape computed": case(lambda x: (x + 1).reshape(4, -1).sum(1), cube),
        "ravel": case(lambda x: x.ravel() * 2, normal(3, 4)),
        "flatten": case(lambda x: x.flatten(), normal(3, 4)),
        "squeeze": case(np.squeeze, normal(3, 1, 4)),
        "expand_dims": case(lambda x: np.expand_dims(x, 1), normal(3, 4)),
    }


def _joins() -> dict[str, Case]:
    square = normal(2, 4), normal(2, 4)
    below = normal(2, 4), normal(3, 4)
    beside = normal(2, 4), normal(2, 3)
    columns = np.ones((7, 2), np.float32)
    return {
        "concatenate": case(lambda a, b: np.concatenate([a, b]), *below),
        "concatenate inner": case(
            lambda a, b: np.concatenate([a, b], 1) @ columns, *beside
        ),
        "stack": case(lambda a, b: np.stack([a, b], 1), *square),
        "vstack": case(lambda a, b: np.vstack([a, b]), *below),
        "hstack": case(lambda a, b: np.hstack([a, b]), *beside),
        "dstack": case(lambda a, b: np.dstack([a, b]), *square),
        "column_stack": case(
            lambda a, b: np.column_stack([a, b]), normal(4), normal(4)
        ),
        "split": case(lambda x: np.split(x, 2, 1), normal(3, 6)),
        "array_split": case(lambda x: np.array_split(x, 4), normal(6, 2)),
        "tile": case(lambda x: np.tile(x, (2, 2)), normal(2, 3)),
        "repeat": case(lambda x: np.repeat(x, 2, 0), normal(2, 3)),
        "roll": case(lambda x: np.roll(x, 1, 0), normal(4, 3)),
        "flip": case(lambda x: np.flip(x, 1), normal(4, 3)),
        "rot90": case(np.rot90, normal(4, 3)),
        "pad": case(lambda x: np.pad(x, 1), normal(4, 3)),
        "pad edge": case(lambda x: np.pad(x, 1, mode="edge"), normal(4, 3)),
        "pad computed": case(lambda x: np.pad(x * 2, 1) + 1, normal(4, 3)),
        "meshgrid": case(np.meshgrid, normal(3), normal(4)),
    }


def _operators() -> dict[str, Case]:
    positive = between(0.1, 3, 4, 5)
    return {
        "arange times": case(lambda x: x * np.arange(5, dtype=np.float32), _X),
        "linspace times": case(lambda x: x * np.linspace(0, 1, 5), _X),
        "ones_like": case(lambda x: x + np.ones_like(x), _X),
        "full_like": case(lambda x: np.full_like(x, 3) * x, _X),
        "eye": case(lambda x: x + np.eye(5, dtype=np.float32), normal(5, 5)),
        "astype": case(lambda x: x.astype(np.float32) * 2, _X),
        "astype f64": case(lambda x: (x.astype(np.float64) * 2).astype(np.float32), _X),
        "float scalar": case(lambda x: x * np.float32(2) + np.float64(1), _X),
        "integer power": case(lambda x: x**3 + x**2, _X),
        "power -1": case(lambda x: x**-1, positive),
        "power half": case(lambda x: x**0.5 + x**1.5, positive),
        "power 0.3": case(lambda x: x**0.3, positive),
        "base power": case(lambda x: 2.0**x, _X),
        "floor divide": case(lambda x: x // 2, _X),
        "modulo": case(lambda x: x % 2, _X),
        "abs operator": case(lambda x: abs(x) - (-x), _X),
    }


def _results() -> dict[str, Case]:
    return {
        "dictionary": case(lambda a: {"x": a * 2, "y": a.sum()}, _X),
        "copy": case(lambda a: a.copy() + 1, _X),
        "unused argument": case(lambda a, b: a * 2, _X, normal(3)),
        "argument returned": case(lambda a: (a, a + 1), _X),
        "constant returned": case(lambda a: (a + 1, np.ones(3, np.float32)), _X),
    }
