"""Cases of layers and of statistics as they are written in NumPy."""

import numpy as np

from tests.conformance.arguments import Case, case, normal


def cases() -> dict[str, Case]:
    """All cases by name."""
    return _layers() | _attention() | _products() | _statistics() | _writing()


def softmax(x):
    """Softmax of rows."""
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def log_softmax(x):
    """The logarithm of the softmax of rows."""
    low = x - x.max(-1, keepdims=True)
    return low - np.log(np.exp(low).sum(-1, keepdims=True))


def logsumexp(x):
    """The logarithm of the sum of the powers of each row."""
    most = x.max(1)
    return np.log(np.exp(x - most[:, None]).sum(1)) + most


def layer_norm(x, scale, shift):
    """Normalised rows."""
    mean = np.mean(x, axis=-1, keepdims=True)
    deviation = np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5)
    return (x - mean) / deviation * scale + shift


def gelu(x):
    """GELU by tanh."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def elu(x):
    """ELU."""
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def gru_cell(x, h, w, u):
    """One step of a simple gated recurrent unit."""
    gate = 1 / (1 + np.exp(-(x @ w + h @ u)))
    return gate * h + (1 - gate) * np.tanh(x @ w)


def rms_norm(x, scale):
    """Rows by their root of the mean square."""
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale


def _layers() -> dict[str, Case]:
    x = normal(4, 9)
    return {
        "softmax": case(softmax, normal(5, 9)),
        "log_softmax": case(log_softmax, normal(5, 9)),
        "logsumexp": case(logsumexp, normal(5, 9)),
        "layer_norm": case(layer_norm, normal(4, 16), normal(16), normal(16)),
        "rms_norm": case(rms_norm, normal(4, 16), normal(16)),
        "batch_norm": case(lambda x: (x - x.mean(0)) / x.std(0), normal(8, 5)),
        "gru": case(gru_cell, normal(3, 4), normal(3, 5), normal(4, 5), normal(5, 5)),
        "gelu": case(gelu, x),
        "silu": case(lambda x: x / (1 + np.exp(-x)), x),
        "relu": case(lambda x: np.maximum(x, 0), x),
        "relu by product": case(lambda x: x * (x > 0), x),
        "leaky": case(lambda x: np.where(x > 0, x, 0.01 * x), x),
        "sigmoid": case(lambda x: 1 / (1 + np.exp(-x)), x),
        "elu": case(elu, x),
        "mlp": case(
            lambda x, w, b, v: np.maximum(x @ w + b, 0) @ v,
            *(normal(4, 8), normal(8, 16), normal(16), normal(16, 3)),
        ),
        "conv1d by slices": case(
            lambda x, w: sum(x[i : len(x) - 2 + i] * w[i] for i in range(3)),
            *(normal(12), normal(3)),
        ),
        "max pool": case(lambda x: x.reshape(2, 2, 3, 2).max((1, 3)), normal(4, 6)),
        "max pool computed": case(
            lambda x: np.maximum(x, 0).reshape(2, 2, 3, 2).max(axis=(1, 3)),
            normal(4, 6),
        ),
        "im2col": case(
            lambda x, w: np.einsum(
                "nchwij,ocij->nohw",
                np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3)),
                w,
            ),
            *(normal(1, 2, 6, 6), normal(3, 2, 3, 3)),
        ),
        "sliding windows": case(
            lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(-1), normal(9)
        ),
    }


def causal(q, k, v):
    """Attention to what came before, by a mask that is added."""
    scores = q @ k.T / np.sqrt(q.shape[-1])
    mask = np.triu(np.full((q.shape[0], k.shape[0]), -np.inf, np.float32), 1)
    return softmax(scores + mask) @ v


def masked(q, k, v):
    """Attention to what came before, by a mask that chooses."""
    visible = np.tril(np.ones((q.shape[0], k.shape[0]), bool))
    return softmax(np.where(visible, q @ k.T, -1e9)) @ v


def heads(x, w):
    """Scores of two heads."""
    split = (x @ w).reshape(x.shape[0], 2, -1).transpose(1, 0, 2)
    return split @ split.transpose(0, 2, 1)


def _attention() -> dict[str, Case]:
    q = normal(6, 8)
    return {
        "attention causal": case(causal, q, q, q),
        "attention where": case(masked, q, q, q),
        "heads": case(heads, q, normal(8, 8)),
    }


def _einsum(text: str, *shapes: tuple[int, ...]) -> Case:
    return case(lambda *a: np.einsum(text, *a), *(normal(*shape) for shape in shapes))


def _products() -> dict[str, Case]:
    return {
        "einsum ij,jk": _einsum("ij,jk->ik", (4, 5), (5, 6)),
        "einsum bhqd": _einsum("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        "einsum sum": _einsum("ij->j", (4, 5)),
        "einsum trace": _einsum("ii", (5, 5)),
        "einsum three": _einsum("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
        "einsum ellipsis": _einsum("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
        "quadratic form": case(
            lambda x, m: np.einsum("i,ij,j", x, m, x), normal(5), normal(5, 5)
        ),
        "outer": case(np.outer, normal(4), normal(5)),
        "inner": case(np.inner, normal(4, 6), normal(5, 6)),
        "dot": case(np.dot, normal(4, 6), normal(6, 3)),
        "dot vectors": case(np.dot, normal(9), normal(9)),
        "matmul batch": case(np.matmul, normal(2, 4, 6), normal(2, 6, 3)),
        "matvec": case(lambda a, b: a @ b, normal(4, 6), normal(6)),
        "vecmat": case(lambda a, b: a @ b, normal(4), normal(4, 6)),
        "tensordot": case(
            lambda a, b: np.tensordot(a, b, 1), normal(2, 3, 4), normal(4, 5)
        ),
        "multi_dot": case(
            lambda a, b, c: np.linalg.multi_dot([a, b, c]),
            *(normal(2, 3), normal(3, 4), normal(4, 5)),
        ),
        "kron": case(np.kron, normal(2, 3), normal(3, 2)),
        "cross": case(np.cross, normal(4, 3), normal(4, 3)),
        "cumulative by triangle": case(
            lambda x: x @ np.triu(np.ones((5, 5), np.float32)), normal(4, 5)
        ),
        "solve": case(np.linalg.solve, normal(4, 4), normal(4, 2)),
        "inv": case(np.linalg.inv, normal(4, 4)),
        "fft": case(lambda x: np.abs(np.fft.rfft(x)), normal(8)),
    }


def cosine(a, b):
    """Cosines between rows."""
    lengths = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    return (a @ b.T) / lengths


def covariance(x):
    """The covariance of columns."""
    low = x - x.mean(0)
    return low.T @ low / (x.shape[0] - 1)


def _statistics() -> dict[str, Case]:
    pair = normal(4, 5), normal(4, 5)
    points = normal(4, 5), normal(3, 5)
    return {
        "trace": case(np.trace, normal(5, 5)),
        "norm": case(np.linalg.norm, normal(4, 5)),
        "norm rows": case(
            lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), normal(4, 5)
        ),
        "vectorized norm": case(
            lambda x: np.sqrt(np.sum(np.square(x), axis=(0, 1))), normal(4, 5, 3)
        ),
        "cosine": case(cosine, *points),
        "distances": case(
            lambda a, b: np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)), *points
        ),
        "mse": case(lambda a, b: np.mean((a - b) ** 2), *pair),
        "covariance": case(covariance, normal(8, 4)),
        "np.cov": case(np.cov, normal(4, 8)),
        "corrcoef": case(np.corrcoef, normal(4, 8)),
        "var ddof": case(lambda x: x.var(1, ddof=1), normal(4, 8)),
        "boolean mean": case(lambda x: (x > 0).mean(), normal(4, 5)),
        "mask sum": case(lambda x: ((x > 0) & (x < 1)).sum(0), normal(6, 5)),
        "argmax one hot": case(
            lambda x: (x == x.max(-1, keepdims=True)) * 1.0, normal(4, 5)
        ),
        "apply over rows": case(
            lambda x: np.apply_along_axis(np.sum, 1, x), normal(4, 5)
        ),
        "diff": case(np.diff, normal(4, 5)),
        "gradient": case(np.gradient, normal(9)),
        "trapezoid": case(np.trapezoid, normal(9)),
        "convolve": case(np.convolve, normal(9), normal(3)),
        "correlate": case(np.correlate, normal(9), normal(3)),
        "polyval": case(lambda x: np.polyval([1.0, 2.0, 3.0], x), normal(9)),
        "interp": case(
            lambda x: np.interp(x, np.arange(4.0), np.arange(4.0) ** 2), normal(9)
        ),
    }


def in_place(x):
    """Operators that assign."""
    y = x * 2
    y += 1
    y *= y
    return y


def assigned(x):
    """A slice that is assigned."""
    y = np.zeros_like(x)
    y[:, 1:] = x[:, :-1]
    return y


def loop_of_rows(x):
    """A state that each row changes."""
    states = []
    state = np.zeros(x.shape[1], np.float32)
    for row in x:
        state = 0.5 * state + row
        states.append(state)
    return np.stack(states)


def _writing() -> dict[str, Case]:
    return {
        "in place": case(in_place, normal(4, 5)),
        "assigned slice": case(assigned, normal(4, 5)),
        "loop of rows": case(loop_of_rows, normal(4, 5)),
    }
