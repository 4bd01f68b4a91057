"""Compile a matmul, call it on NumPy arrays, check it, replay its schedule."""

import numpy as np

import morello


def main() -> None:
    """Find the fastest kernel for a product of odd sizes, and use it."""
    kernel = morello.compile("matmul:100x37x53:f32")
    print(kernel)
    print(kernel.impl)  # what the search decided

    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (100, 37)).astype(np.float32)
    b = rng.integers(-4, 5, (37, 53)).astype(np.float32)
    c = kernel(a, b)
    if not np.array_equal(c, a @ b):  # small integers: every sum is exact
        raise SystemExit("the kernel is wrong")

    kernel(a, b, out=c)  # no new array
    try:
        kernel(a, b.astype(np.float64))
    except morello.MorelloError as error:
        print(error)  # names the argument and says what it should be

    # The schedule is text; from the same text comes the same machine code.
    again = morello.compile("matmul:100x37x53:f32", schedule=kernel.schedule)
    if again.object != kernel.object:
        raise SystemExit("the schedule has given other code")
    print("exact, and replayed to the same bytes")


if __name__ == "__main__":
    main()
