"""Numbers that follow from the sizes of a call: the share of a mean, the scale of
scores."""

import numpy as np
import pytest

import morello
from morello.dialect import load
from morello.dialect.graph_form import read_graph, write_graph
from morello.errors import MorelloError, SpecError
from morello.mlir import ir
from morello.spec import Spec, print_spec
from tests.guarded import check_canaries, check_in_child, guarded_array

TWO = "compose:2..4x1..3:f32:graph=y[m,n]=x[m,n]*(1.0/(size(m)*sqrt(size(n))))"


@pytest.mark.quick
@pytest.mark.parametrize(
    "text",
    [
        "layer_norm:4x{}:f32",
        "rms_norm:4x{}:f32",
        "mean:3x{}x5:f32:axis=1,2",
        "attention:3x4x{}x8:f32",
        "attention:4x4x{}x8:f32:causal=true",
    ],
)
def test_the_spec_of_a_call_is_that_of_its_text(text: str) -> None:
    spec = Spec.parse(text.format("1..512"))
    for size in (1, 2, 3, 7, 49, 512):
        assert spec.at(size) == Spec.parse(text.format(size))
    graph = spec.kind.as_graph
    assert graph is not None
    with ir.Context() as context:
        load(context)
        assert read_graph(write_graph(graph), "'graph'") == graph


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("layer_norm:4x1..9:f32", (7,)),
        (TWO, (3, 2)),
        # the graph has the second size first
        ("compose:1..4x2..5x3:f32:graph=t[n]=sum(x[m,n,k]);y[n]=t/size(m)", (2, 4)),
    ],
)
def test_the_text_reads_back(text: str, sizes: tuple[int, ...]) -> None:
    spec = Spec.parse(text)
    again = Spec.parse(print_spec(spec, spec.limits))
    by_dim = dict(zip((one.dims for one in spec.ranges), sizes, strict=True))
    assert again.at(*(by_dim[one.dims] for one in again.ranges)) == spec.at(*sizes)


@pytest.mark.sampled(2)
def test_numbers_are_rounded_as_those_of_settled_sizes() -> None:
    """Sums of small integers are exact, so that results are the definition's."""
    rows = "compose:2..6x5:f32:graph=y[m,n]=x[m,n]*size(m)"
    for text in ("mean:3x1..9:f32", TWO, rows):
        kernel = morello.compile(text, target="avx2", threads=1)

        def run(kernel: morello.Kernel = kernel) -> None:
            rng = np.random.default_rng(1)
            for call in kernel.spec.calls:
                spec = kernel.spec.at(*call)
                x = rng.integers(-4, 5, spec.shape(0)).astype(np.float32)
                wanted = spec.evaluate(x)
                for side in ("start", "end"):
                    out = guarded_array(np.zeros_like(wanted), "out", side)  # type: ignore[arg-type]
                    kernel(guarded_array(x, "x", side), out)  # type: ignore[arg-type]
                    np.testing.assert_array_equal(out, wanted)
                    check_canaries(out)

        check_in_child(run)
        again = morello.compile(
            text, target="avx2", threads=1, schedule=kernel.schedule
        )
        assert again.object == kernel.object


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compose:4x8:f32:graph=y[m,n]=x[m,n]*size(0)", "which no call says"),
        ("compose:4x8:f32:graph=y[m,n]=x[m,n]*size(q)", "no dimension q"),
        ("compose:4x1:f32:graph=y[m,n]=x[m,n]*(1.0/(size(n)-1.0))", "none of these"),
        ("compose:4x1..8:s32:graph=y[m,n]=x[m,n]*size(n)", "none of s32; settle the"),
    ],
)
def test_numbers_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(MorelloError, match=message):
        morello.compile(text, target="avx2", threads=1)


@pytest.mark.quick
def test_a_part_of_a_program_has_no_definition_without_a_call() -> None:
    spec = Spec.parse("mean:3x1..9:f32").point(4)
    with pytest.raises(SpecError, match=r"take the Spec of a call: spec.at\(37\)"):
        spec.evaluate(np.ones((3, 4), np.float32))
