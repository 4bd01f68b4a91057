"""Cases of indices, shapes and choices, as NumPy and `jax.numpy` both write them."""

from typing import Any

from tests.conformance.arguments import Case, between, case, normal

_X = normal(4, 5)


def cases(xp: Any) -> dict[str, Case]:
    """Cases of a library, `numpy` or `jax.numpy`, by name."""
    return (
        _choices(xp)
        | _indices(xp)
        | _shapes(xp)
        | _joins(xp)
        | _operators(xp)
        | _results(xp)
    )


def _choices(xp: Any) -> dict[str, Case]:
    return {
        "clip": case(lambda x: xp.clip(x, -0.5, 0.5), _X),
        "clip method": case(lambda x: x.clip(0, 1), _X),
        "clip arrays": case(lambda x, a: xp.clip(x, a, a + 1), _X, _X),
        "where two": case(lambda c, a, b: xp.where(c > 0, a, b), _X, _X, _X),
        "where nested": case(lambda x: xp.where(x > 1, 1, xp.where(x < -1, -1, x)), _X),
        "select": case(lambda x: xp.select([x > 1, x < -1], [x, -x], 0), _X),
        "isclose": case(xp.isclose, _X, _X),
        "tril": case(xp.tril, normal(5, 5)),
        "triu": case(lambda x: xp.triu(x, 1), normal(5, 6)),
    }


def _indices(xp: Any) -> dict[str, Case]:
    return {
        "index row": case(lambda x: x[1], _X),
        "index negative": case(lambda x: x[-1, 2:], _X),
        "index of computed": case(lambda x: (x * 2)[1:, :-1] + 1, _X),
        "slice step": case(lambda x: x[::2, 1::2], normal(5, 6)),
        "slice back": case(lambda x: x[::-1], normal(5, 6)),
        "slice back in steps": case(lambda x: x[::-1, ::-2], normal(6, 10)),
        "newaxis": case(lambda x: x[:, None] - x[None, :], normal(5)),
        "ellipsis": case(lambda x: x[..., 0], normal(2, 3, 4)),
        "take known": case(lambda x: x[xp.array([2, 0, 1])], _X),
        "take_along_axis": case(
            lambda x: xp.take_along_axis(x, xp.argsort(x, 1), 1), _X
        ),
        "diagonal": case(xp.diagonal, normal(5, 6)),
        "diag": case(xp.diag, normal(5)),
        "empty": case(lambda x: x[:0] * 2, _X),
    }


def _shapes(xp: Any) -> dict[str, Case]:
    cube = normal(2, 3, 4)
    return {
        "broadcast outer": case(
            lambda a, b: a[:, None] * b[None, :], normal(4), normal(5)
        ),
        "broadcast 3": case(
            lambda a, b: a[:, None, :] + b[None], normal(3, 5), normal(4, 5)
        ),
        "broadcast_to": case(lambda x: xp.broadcast_to(x, (3, 5)) + 1, normal(5)),
        "transposed": case(lambda x: x.T + 1, _X),
        "transpose axes": case(lambda x: xp.transpose(x, (2, 0, 1)) * 2, cube),
        "swapaxes": case(lambda x: xp.swapaxes(x, 0, 2), cube),
        "moveaxis": case(lambda x: xp.moveaxis(x, 0, -1), cube),
        "rollaxis": case(lambda x: xp.rollaxis(x, 2), cube),
        "reshape": case(lambda x: x.reshape(4, -1) + 1, cube),
        "reshape computed": case(lambda x: (x + 1).reshape(4, -1).sum(1), cube),
        "space_to_depth": case(
            lambda x: (
                x.reshape(1, 2, 2, 2, 2, 3)
                .transpose(0, 1, 3, 2, 4, 5)
                .reshape(1, 2, 2, 12)
            ),
            normal(1, 4, 4, 3),
        ),
        "ravel": case(lambda x: x.ravel() * 2, normal(3, 4)),
        "flatten": case(lambda x: x.flatten(), normal(3, 4)),
        "squeeze": case(xp.squeeze, normal(3, 1, 4)),
        "squeeze expand": case(
            lambda x: xp.squeeze(x, 1)[..., None] + 1, normal(3, 1, 4)
        ),
        "expand_dims": case(lambda x: xp.expand_dims(x, 1), normal(3, 4)),
    }


def _joins(xp: Any) -> dict[str, Case]:
    square = normal(2, 4), normal(2, 4)
    below = normal(2, 4), normal(3, 4)
    beside = normal(2, 4), normal(2, 3)
    return {
        "concatenate": case(lambda a, b: xp.concatenate([a, b]), *below),
        "concatenate inner": case(
            lambda a, b: xp.concatenate([a, b], 1) @ xp.ones((7, 2), xp.float32),
            *beside,
        ),
        "stack": case(lambda a, b: xp.stack([a, b], 1), *square),
        "stack innermost": case(lambda a, b: xp.stack([a, b], -1), *square),
        "vstack": case(lambda a, b: xp.vstack([a, b]), *below),
        "hstack": case(lambda a, b: xp.hstack([a, b]), *beside),
        "dstack": case(lambda a, b: xp.dstack([a, b]), *square),
        "column_stack": case(
            lambda a, b: xp.column_stack([a, b]), normal(4), normal(4)
        ),
        "split": case(lambda x: xp.split(x, 3, 1), normal(3, 6)),
        "array_split": case(lambda x: xp.array_split(x, 4), normal(6, 2)),
        "tile": case(lambda x: xp.tile(x, (2, 3)), normal(2, 3)),
        "repeat": case(lambda x: xp.repeat(x, 2, 0), normal(2, 3)),
        "repeat inner": case(lambda x: xp.repeat(x, 2, 1), normal(3, 4)),
        "roll": case(lambda x: xp.roll(x, 1, 0), normal(4, 3)),
        "roll inner": case(lambda x: xp.roll(x, 2, 1), normal(4, 7)),
        "flip": case(lambda x: xp.flip(x, 1), normal(4, 3)),
        "rot90": case(xp.rot90, normal(4, 3)),
        "pad": case(lambda x: xp.pad(x, ((1, 2), (0, 3))), _X),
        "pad edge": case(lambda x: xp.pad(x, 2, mode="edge"), _X),
        "pad computed": case(lambda x: xp.pad(x * 2, 1) + 1, normal(4, 3)),
        "meshgrid": case(xp.meshgrid, normal(3), normal(4)),
    }


def _operators(xp: Any) -> dict[str, Case]:
    positive = between(0.1, 3, 4, 5)
    return {
        "arange times": case(lambda x: x * xp.arange(5, dtype=xp.float32), _X),
        "linspace times": case(lambda x: x * xp.linspace(0, 1, 5), _X),
        "ones_like": case(lambda x: x + xp.ones_like(x), _X),
        "full_like": case(lambda x: xp.full_like(x, 3) * x, _X),
        "eye": case(lambda x: x + xp.eye(5, dtype=xp.float32), normal(5, 5)),
        "astype": case(lambda x: x.astype(xp.float32) * 2, _X),
        "integer power": case(lambda x: x**3 + x**2, _X),
        "power -1": case(lambda x: x**-1, positive),
        "power half": case(lambda x: x**0.5 + x**1.5, positive),
        "power 0.3": case(lambda x: x**0.3, positive),
        "base power": case(lambda x: 2.0**x, _X),
        "floor divide": case(lambda x: x // 2, _X),
        "modulo": case(lambda x: x % 2, _X),
        "abs operator": case(lambda x: abs(x) - (-x), _X),
        "diff": case(lambda x: xp.diff(x, axis=1), _X),
        "fft": case(lambda x: xp.abs(xp.fft.rfft(x)), normal(4, 8)),
    }


def _results(xp: Any) -> dict[str, Case]:
    return {
        "dictionary": case(lambda a: {"x": a * 2, "y": a.sum()}, _X),
        "copy": case(lambda a: a.copy() + 1, _X),
        "argument returned": case(lambda a: (a, a + 1), _X),
        "constant returned": case(lambda a: (a + 1, xp.ones(3, xp.float32)), _X),
    }
