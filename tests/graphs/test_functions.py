"""Maps of each function, as kernels, have the bits of the function's definition."""

import numpy as np
import pytest

import morello
from morello.machine import parse_target
from morello.spec.array_elements import ArrayElements
from morello.spec.functions import ROWS

pytestmark = pytest.mark.usefixtures("one_database")

SPECIAL = [0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan]
NAMES = sorted(ROWS.keys() - {"add", "copy", "div", "mul", "sub"})


@pytest.mark.parametrize("target", ["avx2", "native"])
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_has_the_bits_of_the_definition(name: str, target: str) -> None:
    row = ROWS[name]
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 32, 61, np.uint32).view(np.float32)
    x = np.concatenate([np.asarray(SPECIAL * row.count, np.float32), drawn])
    given = [x, *(rng.permutation(x) for _ in range(row.count - 1))]
    arguments = ",".join(f"x{i}[m]" for i in range(row.count))
    text = f"compose:{x.size}:f32:graph=y[m]={name}({arguments})"
    kernel = morello.compile(text, target=parse_target(target), threads=1, time_limit=5)
    found = kernel(*given)
    with np.errstate(all="ignore"):
        wanted = row.code(ArrayElements(()), *given)
    same = found.view(np.int32) == wanted.view(np.int32)
    assert np.all(same | (np.isnan(found) & np.isnan(wanted)))
