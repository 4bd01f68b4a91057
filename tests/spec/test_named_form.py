"""Graphs as Specs of kinds of their own: which are, and how their operands lie."""

import pytest

from morello.spec import MEM, Compose, Dtype, Layout, TensorSpec
from morello.spec.graphs.graph import canonical
from morello.spec.graphs.text import parse_graph
from morello.spec.named_form import NamedForm, named_form

pytestmark = pytest.mark.quick

F32, BF16, S8, S32 = Dtype.F32, Dtype.BF16, Dtype.S8, Dtype.S32


def _named(
    text: str, sizes: tuple[int, ...] = (), dtypes: tuple[Dtype, ...] = ()
) -> tuple[Compose, tuple[int, ...], NamedForm | None]:
    """The kind of a graph, the sizes of its dimensions and its named form, of row-major
    operands in memory."""
    kind = Compose.of(canonical(parse_graph(text)).graph)
    sizes = sizes or tuple(range(3, 3 + len(kind.dims)))
    dtypes = dtypes or (F32,) * len(kind.operands)
    tensors = tuple(
        TensorSpec(dtype, MEM, Layout.row_major(operand.rank))
        for dtype, operand in zip(dtypes, kind.operands, strict=True)
    )
    return kind, sizes, named_form(kind, sizes, tensors)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("y[m,n]=sum(a[m,k]*b[k,n])", (1, 3, 5, 4)),
        ("y[m,n]=sum(b[k,n]*a[m,k])", (1, 4, 5, 3)),
        ("y[m,n]=sum(a[k,m]*b[n,k])", (1, 3, 5, 4)),
        ("y[b,m,n]=sum(a[b,m,k]*b[b,k,n])", (3, 4, 6, 5)),
        ("y[m,b,n]=sum(a[m,b,k]*b[k,b,n])", (4, 3, 6, 5)),
        ("y[n,m]=x[m,n]", (3, 4)),
        ("y[b,n,m]=x[b,m,n]", (3, 4, 5)),
    ],
)
def test_operands_lie_as_those_of_the_graph(text: str, sizes: tuple[int, ...]) -> None:
    kind, own_sizes, named = _named(text)
    assert named is not None
    assert named.sizes == sizes
    for number, (value, form) in enumerate(
        zip(named.operands, named.tensors, strict=True)
    ):
        shape = kind.operands[value].sizes(own_sizes)
        extents = named.kind.operands[number].sizes(sizes)
        in_memory = tuple(extents[d.dim] for d in form.layout.dims)
        assert named.in_memory(number, shape, 1) == in_memory
    in_order = named.operands == tuple(range(len(named.operands)))
    assert named.keeps_arguments == in_order == ("sum(b" not in text)


@pytest.mark.parametrize(
    ("text", "sizes", "dtypes", "has_name"),
    [
        ("y[m,n]=x[m,n]", (), (), False),  # in order a graph is as quick
        ("y[n,m]=x[m,n]", (1, 4), (), False),
        ("y[n,m]=x[m,n]", (), (F32, BF16), False),  # rounds NaN in another way
        ("y[n,m]=x[m,n]", (), (BF16, F32), True),
        ("y[m,n]=sum(a[m,k]*b[k,n])", (), (F32, S8, S32), False),
        ("y[m,n]=sum(a[m,k]*b[k,n])", (), (F32, BF16, F32), True),
        ("y[m,n]=sum(a[m,k]*b[k,n])", (3, 1, 4), (), False),
        ("y[b,m,n]=sum(a[b,m,k]*b[b,k,n])", (1, 3, 4, 5), (), True),
        ("y[m,n]=a[m,n]+b[m,n]", (), (), False),
        ("y[m]=sum(a[m,k]*b[k])", (), (), False),
    ],
)
def test_which_graphs_have_another_kind(
    text: str, sizes: tuple[int, ...], dtypes: tuple[Dtype, ...], has_name: bool
) -> None:
    *_, named = _named(text, sizes, dtypes)
    assert (named is not None) == has_name
