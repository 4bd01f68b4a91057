"""The pieces of the backend by themselves: when weights are read again, which shapes
are compiled, the queue of compilations, the borders of groups."""

import logging
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.passes.tools_common import stable_topological_sort
from torch.nn import functional

from morello.errors import ArgumentError, MorelloError
from morello.frontends.refusals import ModelError, Refusal
from morello.search import Statistics
from morello.torch import (
    graph_breaks,
    lowering,
    native_call,
    ops,
    partition,
    places,
    shapes,
    worker,
)
from morello.torch.options import Options
from tests.tables import rows
from tests.threads import in_threads
from tests.torch.test_places import is_outside
from tests.torch.test_rules import numbers, same, traced

pytestmark = pytest.mark.quick


class Sums:
    """A model that holds the sum of each of its weights, and counts how often it is
    asked."""

    def __init__(self) -> None:
        self.asked = 0

    def arrays(self, weights: dict[int, Any]) -> tuple[Any, ...]:
        self.asked += 1
        return tuple(
            np.asarray(w, np.float32).sum(keepdims=True) for w in weights.values()
        )


def sums(weights: native_call.Weights, tensors: Sequence[Any]) -> list[float]:
    held = weights.held(tensors)
    addresses = tuple(array.ctypes.data for array in held.arrays)
    assert held.addresses == addresses
    return [float(array.sum()) for array in held.arrays]


def _add(weight: Any) -> None:
    weight.add_(1)


def _data(weight: Any) -> None:
    weight.data.add_(1)


def _through_numpy(weight: Any) -> None:
    weight.detach().numpy().flat[-1] += 3


def _other_memory(weight: Any) -> None:
    weight.data = weight.data + 1


def _other_part(weight: Any) -> None:
    """Tensors of one storage."""
    weight.data = weight.data.flip(0)[: len(weight)] * 3


CHANGES: dict[str, tuple[Callable[[Any], None], bool]] = {
    "in place": (_add, True),
    "data": (_data, False),
    "numpy": (_through_numpy, False),
    "other memory": (_other_memory, True),
    "other part": (_other_part, True),
}
"""Changes of a weight, and whether PyTorch's counters and addresses tell of them."""

FORMS: dict[str, Callable[[], Any]] = {
    "whole": lambda: numbers(3, 4),
    "turned": lambda: numbers(4, 3).T,
    "with gaps": lambda: numbers(3, 8)[:, ::2],
}


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_arrays_of_weights_are_computed_again_when_one_changes(
    change: str, form: str, freeze: bool
) -> None:
    model, other, weight = Sums(), numbers(5), FORMS[form]()
    tensors = [other, numbers(2), weight]
    weights = native_call.Weights(model, (0, 2), freeze)  # type: ignore[arg-type]
    assert model.asked == 0
    for _ in range(3):
        before = sums(weights, tensors)
        assert before == pytest.approx(
            [float(other.sum()), float(weight.sum())], 1e-5, 1e-6
        )
    assert model.asked == 1
    make, is_counted = CHANGES[change]
    make(weight)
    wanted = [float(other.sum()), float(weight.sum())]
    is_seen = is_counted or not freeze
    for _ in range(2):
        assert sums(weights, tensors) == pytest.approx(
            wanted if is_seen else before, 1e-5, 1e-6
        )
    assert model.asked == 1 + is_seen
    tensors[1].add_(1)  # no weight
    sums(weights, tensors)
    assert model.asked == 1 + is_seen


def test_counters_are_not_asked_of_weights_that_have_none() -> None:
    with torch.inference_mode():
        weight = torch.ones(4)
    weights = native_call.Weights(Sums(), (0,), True)  # type: ignore[arg-type]
    assert sums(weights, [weight]) == [4]
    weight.numpy()[0] = 3
    assert sums(weights, [weight]) == [6]


def test_what_depends_on_no_weight_is_computed_once() -> None:
    model = Sums()
    weights = native_call.Weights(model, (), False)  # type: ignore[arg-type]
    assert [sums(weights, [numbers(2)]) for _ in range(2)] == [[], []]
    assert model.asked == 1


def test_arrays_share_the_memory_of_tensors() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64):
        tensor = torch.tensor([1, 2, 3], dtype=dtype)
        array = native_call.array_of(tensor)
        assert array.dtype.name == str(dtype).removeprefix("torch.")
        assert array.tolist() == [1, 2, 3]
        tensor[0] = 4
        assert array[0] == 4


def test_results_have_the_strides_of_eager() -> None:
    likes = [torch.empty(2, 3), torch.empty(3, 2).T, torch.empty(2, 4, 3).mT]
    tensors = [numbers(*like.shape, seed=i) for i, like in enumerate(likes)]
    results = [*tensors]
    native_call.with_eager_strides(likes)(results)
    assert results[0] is tensors[0]
    for like, one, result in zip(likes, tensors, results, strict=True):
        assert result.stride() == like.stride()
        assert torch.equal(result, one)


def graph_of_two(x: Any, y: Any) -> Any:
    return torch.tanh(x) @ y


class Compiled:
    """Compiles graphs of a shape, and remembers which."""

    def __init__(self, *fails: int) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.fails = fails

    def __call__(self, graph: Any) -> Callable[[list[Any]], Any]:
        placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
        shape = tuple(placeholders[0].meta["val"].shape)
        self.shapes.append(shape)
        if shape[0] in self.fails:
            raise ValueError("not this one")

        def run(arguments: list[Any]) -> Any:
            results = graph(*arguments)
            arguments.clear()
            return results

        return run


def test_each_shape_and_its_strides_are_compiled_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "morello.torch")
    compiled, y = Compiled(4), numbers(3, 2)
    graph = traced(graph_of_two, numbers(2, 3), y)
    run = shapes.per_shape(graph, (0,), compiled, 4)
    inputs = [
        numbers(2, 3),
        numbers(5, 3),
        numbers(3, 5).T,
        numbers(4, 3),
        numbers(6, 3),
    ]
    for x in (*inputs, inputs[0], *inputs, numbers(7, 3)):
        arguments = [x, y]
        same(run(arguments), graph_of_two(x, y))
        assert arguments == []
    assert compiled.shapes == [(2, 3), (5, 3), (5, 3), (4, 3)]
    texts = [record.message for record in caplog.records]
    assert [text.split(",")[0] for text in texts] == [
        "a graph stays eager",
        "a graph has been called with more than 4 shapes",
    ]


def test_threads_compile_a_shape_once() -> None:
    compiled, y = Compiled(), numbers(3, 2)
    run = shapes.per_shape(traced(graph_of_two, numbers(2, 3), y), (0,), compiled, 8)
    in_threads(lambda _: run([numbers(2, 3), y]), range(4))
    assert compiled.shapes == [(2, 3)]


def test_arguments_of_dynamic_graphs() -> None:
    def function(x: Any, n: int, y: Any) -> Any:
        return x.reshape(n, -1) + y

    graph = torch.fx.experimental.proxy_tensor.make_fx(
        function, tracing_mode="symbolic"
    )(numbers(6, 2), 3, numbers(1))
    assert shapes.dynamic_places(graph)[0] == 0
    static = traced(lambda x, y: x + y, numbers(6, 2), numbers(2))
    assert shapes.dynamic_places(static) == []


@pytest.fixture
def own_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[worker._Worker]:
    new_worker = worker._Worker()
    monkeypatch.setattr(worker, "_worker", new_worker)
    yield new_worker
    new_worker.tasks.put(None)


def test_tasks_are_done_in_order_and_waited_for(own_worker: worker._Worker) -> None:
    gate, done = threading.Event(), []
    first = worker.submit(lambda: done.append(gate.wait(60)))
    failing = worker.submit(lambda: done.append(1 // 0))
    last = worker.submit(lambda: done.append("last"))
    assert not worker.wait(0.01)
    assert (done, last.done()) == ([], False)
    gate.set()
    assert worker.wait(60)
    assert done == [True, "last"]
    assert first.result() is None
    assert isinstance(failing.exception(), ZeroDivisionError)
    assert own_worker.pending == set()
    assert worker.wait(0)


def test_at_the_end_of_a_process_tasks_are_left_and_searches_stop(
    own_worker: worker._Worker,
) -> None:
    patience = worker.patience(2.5)
    assert patience.seconds == 2.5
    assert patience.watch is not None
    patience.watch(Statistics(0, 0, 0.0))
    done: list[int] = []
    worker.submit(lambda: done.append(0)).result()
    worker._stop()
    assert own_worker.thread is not None
    assert not own_worker.thread.is_alive()
    own_worker.thread = None
    worker.submit(lambda: done.append(1)).result()
    assert done == [0]
    with pytest.raises(MorelloError, match="the process ends"):
        patience.watch(Statistics(0, 0, 0.0))


def test_options_are_those_that_are_given() -> None:
    assert Options.read(None) == Options.read({}) == Options()
    options = {"threads": 3, "freeze": True, "time_limit": 0.5}
    assert Options.read(options) == Options(threads=3, freeze=True, time_limit=0.5)
    with pytest.raises(ArgumentError, match="no option 'fuse'"):
        Options.read({"threads": 3, "fuse": True})


def test_a_function_of_a_list_empties_it() -> None:
    run = shapes.boxed(lambda x, y: x - y)
    arguments = [5, 3]
    assert run(arguments) == 2
    assert arguments == []
    assert run._boxed_call  # type: ignore[attr-defined]


X = numbers(4, 6)


def test_a_lazy_graph_is_no_module_in_calls() -> None:
    lazy = _LazyGraphModule.from_graphmodule(traced(torch.exp, X))
    lazy.recompile()
    run = shapes.boxed(lazy)
    calls: list[Any] = []
    lazy.register_forward_pre_hook(lambda module, inputs: calls.append(inputs))
    same(run([X]), X.exp())
    assert not calls


def _groups(function: Any, *inputs: Any) -> tuple[Any, list[list[str]]]:
    graph = traced(function, *inputs)
    groups = partition.groups_of(graph)
    graph.recompile()
    for one, other in zip(
        _leaves(graph(*inputs)), _leaves(function(*inputs)), strict=True
    ):
        same(one, other)
    return graph, [[_name(node) for node in group] for group in groups]


def _leaves(values: Any) -> list[Any]:
    leaves: list[Any] = torch.utils._pytree.tree_leaves(values)
    return leaves


def _name(node: Any) -> str:
    return str(node.target).removeprefix("aten.").partition(".")[0]


GROUPS = {name: line for name, *line in rows(__file__, "groups")}
"""Functions, and the ops of their groups."""


def ops_of(groups: str) -> list[list[str]]:
    """The ops of the groups of a table, in order."""
    each = [group.split() for group in groups.split("; ") if group]
    names = {"getitem": str(operator.getitem)}
    return sorted(sorted(names.get(op, op) for op in group) for group in each)


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        (X, True),
        (X.T, True),
        (X[0, 0], True),
        (X.to(torch.uint8), True),
        (X[:0], False),
        (X.double(), False),
        (X.to(torch.complex64), False),
        (X.to("meta"), False),
        (X.to_sparse(), False),
        (X.tolist(), False),
        (None, False),
    ],
)
def test_which_tensors_groups_read(value: Any, is_taken: bool) -> None:
    assert partition.is_plain(value) == is_taken


@pytest.mark.parametrize("name", GROUPS)
def test_views_are_taken_where_they_are_read(name: str) -> None:
    function, wanted = GROUPS[name]
    graph, groups = _groups(eval(function), X)
    assert sorted(map(sorted, groups)) == ops_of(wanted)
    graph.graph.lint()


def test_a_call_in_the_place_of_nodes_gives_the_same() -> None:
    def function(x: Any, y: Any) -> Any:
        z = torch.tanh(x) + y
        return z.exp() * 2, z, z.logcumsumexp(1)

    y = numbers(6, seed=1)
    graph = traced(function, X, y)
    wanted = graph(X, y)
    names = ("tanh", "add", "exp", "mul")
    nodes = [node for node in graph.graph.nodes if _name(node) in names]
    called = []

    def computed(x: Any, y: Any) -> Any:
        called.append((x.shape, y.shape))
        z = torch.tanh(x) + y
        return z, z.exp() * 2

    partition.replace_nodes(graph, nodes, computed)
    stable_topological_sort(graph)
    graph.graph.lint()
    graph.recompile()
    for one, other in zip(graph(X, y), wanted, strict=True):
        same(one, other)
    assert called == [(X.shape, y.shape)]
    left = {_name(node) for node in graph.graph.nodes}
    assert not left & set(names)


WITHOUT = {name: line for name, *line in rows(__file__, "groups_without")}
"""Functions, the op that is refused, and the ops of the groups that are left."""


@pytest.mark.parametrize("name", WITHOUT)
def test_groups_without_what_is_refused(name: str) -> None:
    """None has a refused node, its parts, views alone, or reads what no group may."""
    function, refused, wanted = WITHOUT[name]
    graph = traced(eval(function), X)
    nodes = [n for n in graph.graph.nodes if _name(n) == refused]
    groups = partition.groups_without(graph, nodes)
    assert sorted(sorted(map(_name, group)) for group in groups) == ops_of(wanted)


TAKEN = (
    ("relu", "fffcccuuu", "fffcccuuu"),
    ("add.Tensor", "fffcccuuu", "fffcccuuu"),
    ("transpose.int", "fffcccuuu", "fffcccuuu"),
    ("cat", "fffcccuuu", "fffcccuuu"),
    ("_to_copy", "fffcccuuu", "fffcccuuu"),
    ("floor_divide", "ccc", "ccc"),
    ("any", "fffccc", "fffccc"),
    ("_weight_int8pack_mm", "fff", "fffu"),
    ("mm", "fff", "fffccc"),
    ("max_pool2d_with_indices", "fff", "fffccc"),
    ("_embedding_bag", "fff", "fffccc"),
)


@pytest.mark.parametrize(("name", "first", "others"), TAKEN)
def test_dtypes_that_an_op_is_taken_of(name: str, first: str, others: str) -> None:
    kinds = {
        **dict.fromkeys((torch.float32, torch.bfloat16, torch.float16), "f"),
        **dict.fromkeys((torch.bool, torch.int32, torch.int64), "c"),
        **dict.fromkeys((torch.uint8, torch.int8, torch.int16), "u"),
    }
    dtypes = ops.dtypes_of(ops.overload(name))
    assert ["".join(kinds[d] for d in group) for group in dtypes] == [first, others]


def test_integers_of_any_width_are_scaled_into_floats_and_back() -> None:
    floats = {torch.float32, torch.bfloat16, torch.float16}
    for quantized in ops.QUANTIZED:
        first, others = map(set, ops.dtypes_of(quantized))
        assert first == floats
        assert others > floats | {torch.int8, torch.uint8, torch.int32, torch.int64}
    for dequantized in ops.DEQUANTIZED:
        first, others = map(set, ops.dtypes_of(dequantized))
        assert not first & floats
        assert others == first | floats


def test_places_of_floats_are_found_through_what_groups_know() -> None:
    known = ops.KNOWN

    def places_of(function: Any, *inputs: Any) -> bool:
        (output,) = traced(function, *inputs).graph.find_nodes(op="output")
        return places.is_of_floats(output.args[0], known)

    i = torch.tensor([1, 2, 0])
    assert not places_of(lambda x, i: i[i] + 1, X, i)
    assert places_of(lambda x, i: i + x[0, :3].long(), X, i)
    assert places_of(lambda x, i: (x[0, 0] > 0) + (i + i), X, i)
    assert places_of(lambda x, i: x.argsort()[0, :3] + i, X, i)
    assert not places_of(lambda x, i: x.mode(1).indices[:3] + i, X, i)


def test_what_is_read_again_is_looked_up_once() -> None:
    i = torch.tensor([1, 2])

    def function(x: Any, i: Any) -> Any:
        return x[i] * functional.embedding(i, x) + x[:, i + 1].sum()

    graph = traced(function, X, i)
    lookups = [each for node in graph.graph.nodes for each in places.lookups_of(node)]
    ranges = [(each.least, each.end, each.ignored) for each in lookups]
    assert ranges == [(-4, 4, None), (0, 4, None), (-6, 6, None)]
    outside = [is_outside(graph, X, torch.tensor(p)) for p in ([3, 4], [0, 5], [-1, 0])]
    assert outside == [True] * 3
    assert not is_outside(graph, X, torch.tensor([3, 0]))


def test_a_table_without_axes_has_one_place() -> None:
    x, i = torch.tensor(2.5), torch.tensor([0, 0])
    graph = traced(lambda x, i: torch.gather(x, 0, i[0]) * 2, x, i)
    assert not is_outside(graph, x, i)
    assert is_outside(graph, x, i + 1)


def test_refusals_name_the_nodes_of_a_lowered_graph() -> None:
    graph = lowering.lowered(traced(lambda x: (x.exp() + 1).tanh(), X), [X])
    nodes = list(graph.graph.nodes)
    calls = [i for i, node in enumerate(nodes) if node.op == "call_function"]
    places_ = [f"{lowering.NODE}:{i}:0" for i in (0, calls[1], 99)]
    error = ModelError(tuple(Refusal("op", p, "why", "do") for p in places_))
    assert lowering.refused_nodes(graph, error) == [nodes[calls[1]]]
    text = lowering.told(graph, error)
    assert str(nodes[calls[1]]) in text
    assert str(nodes[0]) in text
    assert "node:99" in text


def test_reasons_of_dynamo_are_sentences() -> None:
    long = (
        "Unsupported call\n  Explanation: It is not traced.\n  Hint: Write it so.\n"
        "  Hint: Or so.\n  Developer debug context: f(x)"
    )
    assert graph_breaks._sentence(long, ("model.py", 12)) == (
        "model.py:12: Dynamo leaves code to eager: It is not traced (f(x)); Write it "
        "so."
    )
    assert graph_breaks._sentence("generic_jump TensorVariable()") == (
        "Dynamo leaves code to eager: it branches by the value of a tensor; "
        "torch.where does not"
    )
    assert graph_breaks._sentence("no reason.").endswith("eager: no reason")
