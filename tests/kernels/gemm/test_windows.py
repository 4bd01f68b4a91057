"""Convolutions whose sums stay in registers: steps, dilation, several taps, rows."""

import pytest

from morello.kernels import KERNELS
from morello.spec import Spec, parse_spec
from tests.kernels.harness import (
    Case,
    check_random,
    legal,
    limits_of,
    skip_where_it_cannot_run,
    spec,
)

GRAPHS = {
    "steps": ("y[v,f]=sum(x[2*v+3*j,c]*w[j,c,f])", [(3, 17, 2, 5), (4, 40, 3, 1)]),
    "planes": (
        "y[u,v,f]=sum(x[u+i,2*v+j,c]*w[i,j,c,f])",
        [(1, 3, 33, 3, 2, 5), (2, 2, 16, 1, 3, 7), (1, 1, 9, 2, 1, 1)],
    ),
    "an output that is added to": (
        "out y[u,v,f]+=sum(x[u+2*i,v+j,c]*w[i,j,c,f])",
        [(2, 2, 24, 3, 3, 4)],
    ),
    "images": ("y[n,v,f]=sum(x[n,v+j,c]*w[j,c,f])", [(2, 2, 9, 3, 4)]),
}  # fmt: skip


def spec_of(name: str, text: str, sizes: tuple[int, ...]) -> Spec:
    """A convolution of an image in L1 with filters in L2; sizes in the text's order."""
    shape = "x".join(map(str, sizes))
    goal = parse_spec(f"compose:{shape}:f32:graph={text}", limits_of(name))
    forms = [
        f"f32@{level}[{','.join(map(str, range(operand.rank)))}]{end}"
        for operand, level, end in zip(
            goal.kind.operands, ("L1", "L2", "L1"), ("", "!", ""), strict=True
        )
    ]
    return spec(goal.kind, goal.sizes, *forms, limits=limits_of(name))


@pytest.mark.parametrize("name", ["gemm_windows", "gemm_windows_512"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_taps_are_exact_at_edge_sizes(graph: str, name: str) -> None:
    skip_where_it_cannot_run(KERNELS[name].isa)
    text, sizes = GRAPHS[graph]
    specs = [spec_of(name, text, of_case) for of_case in sizes]
    assert all(legal(name, spec) for spec in specs)
    check_random(Case(name, spec) for spec in specs)
