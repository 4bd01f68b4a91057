"""The text of graphs: what is read, what is printed, what is refused and how."""

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import SpecError
from morello.spec import Compose, Limits, parse_spec
from morello.spec.functions import FUNCTIONS
from morello.spec.graphs import Graph, Node, Output, parse_graph, print_graph
from morello.spec.graphs.expression import Call, Constant, Reference
from morello.spec.graphs.graph import canonical
from morello.spec.graphs.text import (
    MOST_DEPTH,
    MOST_RANK,
    MOST_TEXT,
    MOST_VALUES,
    parse_named,
)
from morello.spec.index_map import IndexMap, plain
from tests.graphs.random_graphs import random_graph
from tests.tables import rows

pytestmark = pytest.mark.quick


def test_kinds_are_ordered_by_the_text_of_their_graphs() -> None:
    first, *_, last = kinds = [
        Compose.of(parse_graph(f"y[m]={function}(x[m])"))
        for function in ("sqrt", "abs", "exp", "abs")
    ]
    assert [kind.text for kind in sorted(kinds)] == sorted(kind.text for kind in kinds)
    assert last < first
    assert not first < last
    assert last == kinds[1]
    assert not last < kinds[1]


HAVE = Limits.of(vrf=16, l1=512, l2=16384)


def test_what_a_text_says() -> None:
    text = "p[r,n]=exp(x[r,n]-m[r]);out l[r]+=sum(p);out y[r]=max(2*p+-1.5)"
    x, m, p = map(Reference, range(3))
    doubled = Call("add", (Call("mul", (Constant(2.0), p)), Constant(-1.5)))
    assert parse_graph(text) == Graph(
        (plain(0, 1), plain(0)),
        (
            Node((0, 1), "map", Call("exp", (Call("sub", (x, m)),)), ()),
            Node((0,), "sum", p, (1,)),
            Node((0,), "max", doubled, (1,)),
        ),
        (Output(3, accumulates=True), Output(4)),
    )


def test_dimensions_and_values_have_their_names() -> None:
    graph, names = parse_named("y[f,u]=sum(w[f,i]*x[2*u+i])")
    assert names.dims == {"f": 0, "u": 1, "i": 2}
    assert names.values == {"w": 0, "x": 1, "y": 2}
    assert graph.inputs == (plain(0, 2), (IndexMap(((1, 2), (2, 1))),))


def test_axes_are_divided() -> None:
    graph = parse_graph("y[m,n]=sum(a[m,k]*s[k//32,n])")
    divided = IndexMap(((2, 1),), divisor=32)
    assert graph.inputs == (plain(0, 2), (divided, *plain(1)))
    assert "x1[d2//32,d1]" in print_graph(graph)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("y[m]=x[m]", "out y[m]=x[m]"),
        (" y [ m , n ] = exp ( x [ m , n ] ) ", "y[m,n]=exp(x[m,n])"),
        ("y[m,n]=x[m,n]+x[m,n]", "y[m,n]=x[m,n]+x"),
        ("y[m]=max(x[m],w[m])", "y[m]=maximum(x[m],w[m])"),
        ("y[m]=-x[m]", "y[m]=neg(x[m])"),
        ("y[m]=x[ m // 1 ]", "y[m]=x[m]"),
        ("y[m]=add(x[m],mul(w[m],2))", "y[m]=x[m]+w[m]*2.0"),
        ("y[m]=x[m]-(-2)", "y[m]=x[m]--2"),
        ("y[m]=x[m]-w[m]-x", "y[m]=(x[m]-w[m])-x"),
        ("y[m]=sum(x[m,n]);z[m]=exp(y)", "y[m]=sum(x[m,n]);out z[m]=exp(y)"),
    ],
)
def test_two_ways_to_write_a_graph(text: str, same: str) -> None:
    assert parse_graph(text) == parse_graph(same)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_what_is_printed_is_read_back(first: int) -> None:
    """Dimensions get the numbers of their first use in the text: the graph is another
    in these alone."""
    for seed in range(first, first + 50):
        graph = canonical(random_graph(random.Random(f"printed {seed}"), True)).graph
        read = parse_graph(print_graph(graph))
        assert len(read.inputs) == len(graph.inputs), seed
        assert [n.reduction for n in read.nodes] == [n.reduction for n in graph.nodes]
        assert read.outputs == graph.outputs, seed
        assert canonical(read).graph == graph, seed


def _refused(text: str) -> str:
    with pytest.raises(SpecError) as refused:
        parse_graph(text)
    return str(refused.value)


@pytest.mark.parametrize(("text", "message"), rows(__file__, "refused_graphs"))
def test_every_refusal_says_what_where_why_and_what_to_do(
    text: str, message: str
) -> None:
    assert _refused(text) == message.replace("FUNCTIONS", ", ".join(FUNCTIONS))


def test_large_graphs_are_refused() -> None:
    many = ";".join(f"y{i}[m]=exp(x[m])" for i in range(MOST_VALUES))
    assert _refused(many).endswith(
        f"…' has {MOST_VALUES + 1} values and 1 dimensions; use at most {MOST_VALUES} "
        f"and {MOST_RANK}: cut it in parts"
    )
    axes = ",".join(f"d{i}" for i in range(MOST_RANK + 1))
    assert "has 2 values and 13 dimensions" in _refused(f"y[{axes}]=x[{axes}]")
    assert _refused("y[m]=" + "x[m]+" * MOST_TEXT + "x[m]") == (
        f"a graph of {5 * MOST_TEXT + 9} characters is too long; write at most "
        f"{MOST_TEXT}"
    )


@pytest.mark.parametrize(
    "body",
    [
        "(" * 2000 + "x[m]" + ")" * 2000,
        "-" * 2000 + "x[m]",
        "exp(" * 600 + "x[m]" + ")" * 600,
        "+".join(["x[m]"] * 700),
        "x[" + "+".join(["m"] * 1900) + "]",
        "x[" + "-" * 2000 + "m]",
        "x" + "[m]" * 1000,
        "9" * 4000 + "*x[m]",
        "x[m]" + ".x" * 1500,
    ],
    ids=lambda body: body[:6],
)
def test_texts_that_are_deep_or_long_are_refused_in_a_few_words(body: str) -> None:
    message = _refused(f"y[m]={body}")
    assert message.startswith("'y[m]=")
    assert len(message) < 700


def test_the_depth_that_is_read() -> None:
    deep = MOST_DEPTH
    graph = parse_graph("y[m]=" + "exp(" * deep + "x[m]" + ")" * deep)
    assert print_graph(graph).count("exp") == deep
    deeper = "y[m]=" + "exp(" * (deep + 1) + "x[m]" + ")" * (deep + 1)
    assert _refused(deeper).endswith(
        f"more than {MOST_DEPTH} calls and signs are within each other; define a node "
        "for a part"
    )


@pytest.mark.parametrize(
    "text", ["y[m]=ü[m]", "y[µ]=x[µ]", "ÿ[m]=x[m]", "y[m]=x[m]*\u0661"]
)
def test_names_are_ascii(text: str) -> None:
    message = _refused(text)
    assert message.endswith("; write names in ASCII")
    assert f"the graph '{text}' has the character" in message


@given(st.text(max_size=60))
def test_any_text_is_a_graph_or_is_refused(text: str) -> None:
    for candidate in (text, f"y[m]={text}", f"y[m]=sum({text})", f"y[{text}]=x[m]"):
        with contextlib.suppress(SpecError):
            plain = print_graph(canonical(parse_graph(candidate)).graph)
            assert print_graph(canonical(parse_graph(plain)).graph) == plain


_PIECES = st.lists(
    st.sampled_from(
        [
            *"mnk[],;=+-*/()12. xyz",
            "out ",
            "sum(",
            "exp(",
            "y[m]=",
            "x[m,n]",
            "+=",
            "2*",
        ]
    ),
    max_size=25,
).map("".join)


@given(_PIECES)
def test_any_pieces_are_a_spec_or_are_refused(text: str) -> None:
    for sizes in ("4", "4x5"):
        with contextlib.suppress(SpecError):
            spec = parse_spec(f"compose:{sizes}:f32:graph=y[m]={text}", HAVE)
            assert spec.kind.as_graph is not None


def test_maps_within_each_other_stay_apart_where_they_are_deep() -> None:
    deep, name, texts = MOST_DEPTH - 4, "x[m]", []
    for i in range(13):
        texts.append(f"y{i}[m]=" + "exp(" * deep + name + ")" * deep)
        name = f"y{i}"
    graph = canonical(parse_graph(";".join(texts))).graph
    assert len(graph.nodes) == 13
    text = print_graph(graph)
    assert text.count("exp") == 13 * deep
    assert print_graph(canonical(parse_graph(text)).graph) == text
    few = canonical(parse_graph("a[m]=exp(x[m]);b[m]=exp(a);c[m]=exp(b)")).graph
    assert len(few.nodes) == 1
