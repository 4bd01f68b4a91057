"""Compile attention, see what the search has fused, and compare it with NumPy."""

import re

import numpy as np

import morello

QUERIES, KEYS, DEPTH = 32, 128, 16


def in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The definition, in f64: each step makes a whole array."""
    scores = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(DEPTH)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: np.ndarray = weights / weights.sum(axis=1, keepdims=True) @ v
    return result


def main() -> None:
    """One kernel for softmax(Q·Kᵀ/√d)·V."""
    text = f"attention:{QUERIES}x{KEYS}x{DEPTH}x{DEPTH}:f32"
    kernel = morello.compile(text)
    print(kernel)

    # Where values are between their producers and their consumers.
    cuts = re.findall(
        r'transform.cut".*?level = "(\w+)", nodes = "([^"]*)"', str(kernel.schedule)
    )
    for level, nodes in cuts:
        print(f"after {nodes}: what is read later stays in {level}")

    rng = np.random.default_rng(0)
    q = rng.standard_normal((QUERIES, DEPTH), np.float32)
    k, v = rng.standard_normal((2, KEYS, DEPTH), np.float32)
    result = kernel(q, k, v)
    worst = np.max(np.abs(result - in_numpy(q, k, v)))
    print(f"greatest difference from NumPy in f64: {worst:.1e}")
    if worst > 1e-5:
        raise SystemExit("the kernel is wrong")

    # Masked keys weigh nothing: their scores are -inf. The last coordinate masks.
    q[:, -1], k[:, -1] = 1, 0
    k[100:, -1] = -np.inf
    masked = kernel(q, k, v)
    k[100:, -1] = 0
    seen = in_numpy(q, k[:100], v[:100])
    if not np.allclose(masked, seen, rtol=1e-4, atol=1e-5):
        raise SystemExit("masked keys count")
    print("masked keys weigh nothing")


if __name__ == "__main__":
    main()
