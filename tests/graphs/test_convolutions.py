"""Convolutions: taps merged with channels; searched programs beside the definition."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import morello
from morello.actions.copies.unfold import Unfolded, unfolded_key
from morello.actions.dims.merge import Merge
from morello.actions.dims.view import View
from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.axes import goal_axes
from morello.search.impl import Impl
from morello.spec import Spec, parse_spec
from morello.spec.graphs.convolution import squeezed, without_padding
from morello.spec.graphs.evaluate import evaluate
from morello.spec.graphs.merging import Taps, taps
from tests.quality.execution import check_bound
from tests.quality.programs import build_programs

FUSED = (
    "t[n,f,u,v]=sum(w[f,c,i,j]*x[n,c,pad(2*u+i,1,1),pad(2*v+j,1,1)]);"
    "y[n,f,u,v]=relu(t+b[f])"
)
"""A convolution in steps of two, a bias and relu."""

SEARCHED = {
    "conv:1x3x7x8x8x5x5:f32:pad=2:stride=2:l2=0": ("pad", "unfold", "squeeze"),
    "conv:2x2x7x7x9x3x3:f32:stride=2:layout=nhwc:l2=0": ("merge", "squeeze"),
    "conv:1x3x6x8x9x3x2:f32:pad=1:layout=nhwc:l2=0": ("pad", "squeeze"),
    "conv:1x9x7x9x8x1x1:f32:stride=2": ("drop", "squeeze"),
    "conv:2x9x4x4x8x1x1:f32:layout=nhwc": ("drop", "collapse", "squeeze"),
    "conv:2x4x5x7x4x3x3:f32:stride=2:groups=2:l2=0": ("unfold",),
    "conv:1x3x6x9x8x2x2:f32:dilation=2:l2=0": ("squeeze",),
    "compose:24x70:bf16,f32,f32:graph=out y[m]=sum(a[m,k]*x[k])": ("squeeze",),
    "compose:3x24x70:bf16,f32,f32:graph=out y[b,m]=sum(a[b,m,k]*x[b,k])": ("squeeze",),
    "compose:70x24:bf16,f32,f32:graph=out y[m]=sum(a[k,m]*x[k])": ("squeeze",),
    f"compose:1x9x3x6x2x3x3:f32:l2=0:graph={FUSED}": (
        *("pad", "cut_in_place", "unfold", "squeeze"),
    ),
}
"""Specs, and actions that their programs have. Most do without L2, of which most tables
are, and which changes none of the actions."""


def taps_of(spec: Spec) -> Taps:
    """The taps of a convolution that its channels can be merged with."""
    graph = spec.kind.as_graph
    assert graph is not None
    pair = taps(graph)
    assert pair is not None
    return pair


def actions(impl: Impl) -> set[str]:
    names = {impl.action.name}
    return names.union(*(actions(branch.impl) for branch in impl.branches))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", SEARCHED)
def test_searched_programs_are_within_the_bound(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    impl = Solver(AVX2).solve(spec).impl
    assert actions(impl) >= {*SEARCHED[text]}
    (program,) = build_programs([impl], [text])
    check_bound(program)


def test_what_follows_a_convolution_is_merged_with_it() -> None:
    text = (
        "compose:4x5x4x3x2x3:f32:graph=t[u,v,f]=sum(w[i,j,c,f]*x[2*u+i,2*v+j,c]);"
        "y[u,v,f]=relu(t+b[f])*r[u,v,f]"
    )
    spec = parse_spec(text, AVX2.limits)
    view = Merge().view(spec.key)
    assert isinstance(view, View)
    pair = taps_of(spec)
    graph = view.key.kind.as_graph
    assert graph is not None
    assert len(graph.nodes) == 2
    sizes = tuple(
        spec.sizes[pair.tap] * spec.sizes[pair.channel]
        if dim == pair.channel
        else spec.sizes[dim]
        for dim in view.dims
    )
    values = dict(enumerate(spec.random(np.random.default_rng(0))))
    expected = spec.kind.evaluate(spec.sizes, spec.dtypes, tuple(values.values()))
    convolution = pair
    images, weights = values[convolution.image], values[convolution.weights]
    count, reach = (
        spec.sizes[convolution.out_dim],
        spec.sizes[convolution.tap] * spec.sizes[convolution.channel],
    )
    down, along, each = images.strides
    strides = (down, along * convolution.step, each)
    values[convolution.image] = as_strided(images, (len(images), count, reach), strides)
    values[convolution.weights] = weights.reshape(weights.shape[0], reach, -1)
    arrays = [values[view.operands[v]] for v in range(len(graph.inputs))]
    results = evaluate(graph, sizes, arrays)
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)


def test_sizes_of_a_convolution_are_those_of_its_product_whatever_follows() -> None:
    spec = parse_spec(f"compose:1x16x8x9x3x5x5:f32:graph={FUSED}", AVX2.limits)
    axes = dict(zip("fnuvcij", goal_axes(spec, 1), strict=True))
    assert all(axes[d] in ((1,), (1, 5), (1, 8)) for d in "nuij")
    assert len(axes["f"]) > len(axes["v"]) > 3


@pytest.mark.parametrize("stride", [1, 2])
def test_a_merged_convolution_computes_the_same(stride: int) -> None:
    text = f"conv:2x3x9x8x4x3x2:f32:stride={stride}:layout=nhwc"
    spec = parse_spec(text, AVX2.limits)
    view = Merge().view(spec.key)
    assert isinstance(view, View)
    pair = taps_of(spec)
    weights, images = spec.random(np.random.default_rng(0))
    (expected,) = spec.kind.evaluate(spec.sizes, spec.dtypes, (weights, images))
    count = spec.sizes[pair.out_dim]
    strides = np.array(images.strides) * (1, 1, stride, 1)
    pieces = as_strided(images, (2, 9, count, 2 * 3), strides)
    graph = view.key.kind.as_graph
    assert graph is not None
    sizes = tuple(
        2 * 3 if dim == pair.channel else spec.sizes[dim] for dim in view.dims
    )
    arrays = (weights.reshape(4, 3, 2 * 3), pieces)
    np.testing.assert_allclose(evaluate(graph, sizes, arrays)[0], expected, rtol=1e-5)


@pytest.mark.parametrize("text", ["2x6x9x8x6x3x2:f32", "1x6x10x9x6x2x3:f32:stride=2"])
@pytest.mark.parametrize("groups", [1, 3])
def test_an_unfolded_convolution_computes_the_same(text: str, groups: int) -> None:
    options = f":groups={groups}" if groups > 1 else ""
    spec = parse_spec(f"conv:{text}{options}", AVX2.limits)
    view = unfolded_key(spec.key)
    assert isinstance(view, Unfolded)
    arrays = dict(enumerate(spec.random(np.random.default_rng(0))))
    (expected,) = spec.kind.evaluate(spec.sizes, spec.dtypes, tuple(arrays.values()))
    image = arrays[view.windows.image]
    shape = [spec.sizes[dim] for dim in view.windows.dims]
    steps = [step * image.strides[axis] for _, axis, step in view.windows.places]
    arrays[view.windows.image] = as_strided(image, shape, steps)
    graph = view.body.kind.as_graph
    assert graph is not None
    sizes = tuple(spec.sizes[dim] for dim in view.part.dims)
    inputs = [arrays[value] for value in view.part.values[: len(arrays)]]
    np.testing.assert_allclose(evaluate(graph, sizes, inputs)[0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("conv:1x3x9x8x4x3x2:f32", 7, 4),
        ("conv:1x3x9x8x4x3x2:f32:stride=2", 4, 4),
        ("conv:1x3x9x8x5x3x2:f32:layout=nhwc", 5, 7),
        ("conv:1x3x9x8x5x1x1:f32:stride=2", 5, 4),
    ],
)
def test_columns_are_filters_where_images_are_read_in_steps(
    text: str, columns: int, rows: int
) -> None:
    spec = parse_spec(text, AVX2.limits)
    assert spec.kind.as_graph is not None
    squeezed_graph = squeezed(without_padding(spec.kind.as_graph))
    assert squeezed_graph is not None
    _, m, k, n = squeezed_graph.dims
    assert (spec.sizes[m], spec.sizes[k], spec.sizes[n]) == (rows, 3, columns)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("matmul:4x4x4:f32", "matmul is no convolution whose taps and channels are"),
        ("conv:1x3x5x5x4x3x3:f32:pad=1:layout=nhwc", "windows reach beyond the image"),
        ("conv:1x3x5x5x4x3x3:f32", "channels of 'x1' do not follow upon its taps"),
        ("conv:1x3x5x5x4x3x3:f32:dilation=2:layout=nhwc", "is no convolution whose"),
        ("conv:1x3x5x5x3x3x3:f32:groups=3:layout=nhwc", "is no convolution whose"),
    ],
)
def test_what_is_not_merged(text: str, reason: str) -> None:
    view = Merge().view(parse_spec(text, AVX2.limits).key)
    assert isinstance(view, str)
    assert reason in view


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("conv:1x3x5x5x4x3x3:f32:pad=1", "windows reach beyond the image"),
        ("conv:1x3x5x5x4x3x3:f32:layout=nhwc", "of images whose rows are innermost"),
        ("conv:1x3x9x9x4x3x3:f32:stride=2:dilation=2", "whose rows are innermost"),
        ("conv:1x3x5x5x3x3x3:f32:groups=3", "whose rows are innermost"),
    ],
)
def test_what_is_not_unfolded(text: str, reason: str) -> None:
    view = unfolded_key(parse_spec(text, AVX2.limits).key)
    assert isinstance(view, str)
    assert reason in view


def test_an_axis_may_be_reached_in_part() -> None:
    """Neither the first places of an axis nor the last, beside zeros."""
    kernel = morello.compile(
        "compose:4x6:f32:graph=y[u,n]=x[pad(u,-2,-3),pad(n,-1,2)]*2.0", threads=1
    )
    x = np.arange(45, dtype=np.float32).reshape(9, 5)
    expected = np.zeros((4, 6), np.float32)
    expected[:, :4] = 2 * x[2:6, 1:]
    np.testing.assert_array_equal(kernel(x), expected)
