"""Groups whose kernels a process before has made: taken, or made anew."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from morello.frontends import stored_kernels
from morello.runtime.code_cache import entries
from morello.search.storage.shelf import SHELF
from morello.torch import group, ranged
from morello.torch.graph_names import graph_name
from morello.torch.options import Options

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

X = torch.arange(12.0).reshape(3, 4) / 7 - 1


class Small(nn.Module):
    """A product, whose result is scaled by constants."""

    def __init__(self, scales: tuple[float, ...] = (1.0, 2.0)) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(4, 2)
        self.scales = scales

    def forward(self, x: Any) -> Any:
        return torch.relu(self.inner(x)) * torch.tensor(self.scales).exp()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of machine code."""
    monkeypatch.setenv("MORELLO_CODE", str(tmp_path / "code"))
    yield tmp_path / "code"
    torch._dynamo.reset()


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The groups that were lowered."""
    graphs = []
    whole = group.lowered

    def lower(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return whole(graph, inputs)

    for module in (group, ranged):
        monkeypatch.setattr(module, "lowered", lower)
    return graphs


def run(model: nn.Module, x: Any = X, **options: Any) -> None:
    """Compile a model as a new process does, and compare it with eager; with the option
    ``batch`` for all sizes of a batch."""
    torch._dynamo.reset()
    if "batch" in options:
        torch._dynamo.mark_dynamic(x, 0)
    every = {"wait": True, "threads": 1, **options}
    fast = torch.compile(model.eval(), backend="morello", options=every)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-6)


def test_a_second_process_lowers_nothing(lowered: list[Any]) -> None:
    run(Small())
    assert len(lowered) == 1
    run(Small())
    changed = Small()
    nn.init.ones_(changed.inner.weight)
    run(changed)
    assert len(lowered) == 1


@pytest.mark.sampled(2)
def test_other_graphs_constants_forms_and_options_are_others(
    lowered: list[Any],
) -> None:
    run(Small())
    run(Small((1.0, 3.0)))
    run(Small(), X[:2])
    run(nn.Sequential(Small(), nn.ReLU()))
    run(Small(), freeze=True)
    assert len(lowered) == 5


@pytest.mark.sampled(2)
def test_a_second_process_lowers_nothing_of_all_sizes(lowered: list[Any]) -> None:
    for batch, count in ((5, 3), (5, 3), (4, 6)):
        run(Small(), X.clone(), batch=batch)
        run(Small(), X[:2].clone(), batch=batch)
        assert len(lowered) == count


def test_without_a_database_nothing_is_kept(folder: Path, lowered: list[Any]) -> None:
    run(Small(), database="none")
    run(Small(), database="none")
    assert len(lowered) == 2
    assert not entries(folder)


def test_goals_that_a_database_has_not_are_searched(
    lowered: list[Any], tmp_path: Path
) -> None:
    run(Small())
    SHELF.clear()
    run(Small(), database=str(tmp_path / "new.sqlite"))
    assert len(lowered) == 2


def test_another_program_is_compiled(
    lowered: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Small())
    whole = stored_kernels.settled

    def settled(*arguments: Any) -> Any:
        spec, solution = whole(*arguments)
        other = dataclasses.replace(solution.impl, cost=solution.impl.cost + 1)
        return spec, dataclasses.replace(solution, impl=other)

    monkeypatch.setattr(stored_kernels, "settled", settled)
    run(Small())
    assert len(lowered) == 2


@pytest.mark.sampled(2)
def test_what_was_searched_in_part_is_searched_again(lowered: list[Any]) -> None:
    class Wide(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x @ x.T).softmax(-1) @ x

    x = torch.ones(23, 29)
    run(Wide(), x, time_limit=0.0)
    run(Wide(), x, time_limit=0.0)
    assert len(lowered) == 2


def test_what_has_no_text_has_no_name() -> None:
    graph = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    assert graph_name(graph, [X], [], Options()) is None


def test_a_constant_counts_by_its_elements() -> None:
    def named(elements: Any) -> str | None:
        root = nn.Module()
        root.register_buffer("known", elements)
        graph = torch.fx.Graph()
        graph.output(graph.get_attr("known"))
        return graph_name(torch.fx.GraphModule(root, graph), [], [], Options())

    of = [torch.zeros(2), torch.tensor([0.0, -0.0]), torch.zeros(2).bfloat16()]
    of += [torch.zeros(2, dtype=torch.bool), torch.zeros(1, 2)]
    names = [named(elements) for elements in of]
    assert None not in names
    assert len({*names}) == len(names)
    assert named(torch.zeros(2)) == names[0]
