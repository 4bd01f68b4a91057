"""A1, A2, B1, B3 of products with integers of 4 and 8 bits that have scales: each part
missing, of columns, of blocks of any length, or of one element."""

import functools
import random
from collections.abc import Sequence

from morello.machine import AVX2, find_target
from morello.spec import Spec, parse_spec
from tests.quality.graph_programs import check, searched, walked

SIZES = (1, 2, 3, 5, 8, 9, 16, 17, 33, 64, 70)


def random_scaled_spec(seed: int) -> Spec:
    """A product of any rows, of numbers or of bytes with scales."""
    return parse_spec(random_text(random.Random(f"scaled {seed}")), AVX2.limits)


def random_text(rng: random.Random) -> str:
    """The text of a Spec, whose blocks may not divide k."""
    m, n = rng.choice(SIZES[:7]), rng.choice(SIZES)
    block = rng.choice((1, 2, 3, 7, 8, 16, 32, 32, 64, 128))
    halves = rng.random() < 0.5
    k = block * rng.randint(1, 5) + rng.choice((0, 0, 1, block // 2))
    k += k % 2 if halves else 0
    along = (f"k//{block},n", f"k//{2 * block},n", "n", f"k//{block}")
    dtypes: dict[str, str] = {}

    def read(name: str, dtype: str) -> str:
        dtypes[name] = dtype
        return f"{name}[{rng.choice(along)}]"

    a = rng.choice(("f32", "f32", "f16", "bf16", "s8", "s8"))
    floats, narrow = ("f32", "f16", "bf16"), ("u8", "s8")
    dtypes["q"] = "u8" if halves else rng.choice(narrow)
    weight = "q[k/2,n]" if halves else "q[k,n]"
    zero = rng.choice(("", "", "8", "z"))
    if zero:
        taken = read("z", rng.choice((*narrow, "f32"))) if zero == "z" else zero
        weight = f"({weight}-{taken})"
    for name in ("s", "t"):
        if rng.random() < (0.9 if name == "s" else 0.2):
            kind = rng.choice(floats if name == "s" else narrow)
            weight = f"{read(name, kind)}*{weight}"
    if rng.random() < 0.3:
        sign = rng.choice("+-")
        weight = f"{weight}{sign}{read('o', rng.choice(floats))}"
    dtypes["a"] = a
    rows = ""
    if a == "s8":
        dtypes["d"] = "f32"
        rows = rng.choice((f"d[m,k//{block}]*", "d[m]*"))
    summed = f"{rows}a[m,k]*({weight})"
    text = f"y[m,n]=sum({summed})"
    if not rows and rng.random() < 0.5:
        text = f"w[k,n]={weight};y[m,n]=sum(a[m,k]*w)"
    if rng.random() < 0.3:
        dtypes["b"] = "f32"
        text = text.replace("y[m,n]=", "p[m,n]=") + ";y[m,n]=relu(p+b[n])"
    inlined = f"{summed};b["
    order = sorted(dtypes, key=lambda name: inlined.index(f"{name}["))
    names = ",".join(dtypes[name] for name in order)
    sizes = {"m": m, "n": n, "k": k}
    dims = sorted(sizes, key=lambda dim: _first(text, dim))
    return f"compose:{'x'.join(str(sizes[d]) for d in dims)}:{names},f32:graph={text}"


def _first(text: str, dim: str) -> int:
    """The first place of a dimension in a text, alone in an axis of a value that is
    defined."""
    return min(text.find(before + dim) for before in "[," if before + dim in text)


def check_scaled_products(seeds: Sequence[int]) -> int:
    """For each seed a product and a random program of it, of odd ones the best; how
    many were run.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    options = {"draw": random_scaled_spec}
    walks, best = ([seed for seed in seeds if seed % 2 == odd] for odd in (False, True))
    count = check("scaled_products", walks, walked, 2, **options)
    return count + check("scaled_products", best, searched, 1, **options)


def check_wide_scaled_products(seeds: Sequence[int]) -> int:
    """For each seed the best program in vectors of 64 bytes with VNNI.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    solved = functools.partial(searched, target=VNNI)
    return check(
        "wide_scaled_products", seeds, solved, 1, VNNI, draw=random_scaled_spec
    )


VNNI = find_target("avx512-vnni-bf16")
