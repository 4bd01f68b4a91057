"""Training: networks that look at the nodes of programs, with PyTorch.

The loss has four parts: the error of the logarithm of measured over predicted cost,
beside the mean of the programs of a Spec; the error of this mean, which weighs little;
for each pair of programs of a Spec how far their predictions are from the right order
(a ranking loss); and the same once more for the best fused and the best other program
of a graph. Every Spec weighs the same.
"""

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.learned.ledger import Vector
from morello.learned.network import LITTLE, MOST, Network, Networks
from morello.learned.nodes import Nodes

_RARE = 20
"""A feature of so few nodes is not looked at."""


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """Settings of training. Losses are scaled by differences of logarithms of times."""

    members: int = 6
    """Networks, from other random weights, whose predictions are averaged."""
    width: int = 48
    """Units of each of the two hidden layers."""
    dropout: float = 0.1
    epochs: int = 40
    batch: int = 8
    """Specs in a step."""
    rate: float = 3e-3
    """The rate of learning, at most."""
    decay: float = 1e-3
    """The decay of weights."""
    error: float = 10.0
    """The weight of the errors of programs, from `outlier` on linearly."""
    outlier: float = 0.1
    level: float = 0.3
    """The weight of the error of the mean of a Spec."""
    order: float = 5.0
    """The weight of the order of pairs."""
    same: float = 0.01
    """The least difference of a pair that counts in full."""
    sharp: float = 0.02
    """The least difference of predictions that is safe."""
    fusion: float = 1.5
    """The weight of the order of the best fused and the best other program."""


@dataclasses.dataclass(frozen=True)
class _Task:
    """The programs of one Spec as tensors."""

    rows: Any
    shares: Any
    program: Any
    costs: Any
    """Logarithms."""
    wanted: Any
    """The logarithms of measured over predicted costs."""
    fusion: tuple[int, int] | None
    """The faster of the best fused and the best other program, and the slower one."""


def train_networks(
    nodes: Sequence[Nodes],
    costs: Sequence[Vector],
    times: Sequence[Vector],
    fused: Sequence[tuple[bool | None, ...]],
    settings: NetworkSettings,
    seed: int,
) -> Networks:
    """Networks for the programs of some Specs.

    Args:
        nodes: of the programs of each Spec.
        costs: millicycles by the cost model.
        times: millicycles as measured.
        fused: whether the parts of a graph take turns (`is_fused`).

    Raises:
        MorelloError: PyTorch is not installed.
    """
    torch = imported_torch()
    names, scales = _inputs(nodes)
    tasks = [
        _Task(
            torch.tensor(one.columns(names) / scales, dtype=torch.float32),
            torch.tensor(one.shares, dtype=torch.float32),
            torch.tensor(one.program),
            torch.tensor(np.log(cost), dtype=torch.float32),
            torch.tensor(np.log(time / cost), dtype=torch.float32),
            _best_of_both(time, ways),
        )
        for one, cost, time, ways in zip(nodes, costs, times, fused, strict=True)
    ]
    members = (
        _numbers(_trained(torch, tasks, len(names), settings, seed + i), scales)
        for i in range(settings.members)
    )
    return Networks(names, tuple(members))


def _best_of_both(
    times: Vector, fused: Sequence[bool | None]
) -> tuple[int, int] | None:
    """The best fused and the best other program, the faster one first."""
    ways = [[i for i, one in enumerate(fused) if one is way] for way in (True, False)]
    if not all(ways):
        return None
    first, second = sorted(
        (min(way, key=lambda i: times[i]) for way in ways), key=lambda i: times[i]
    )
    return first, second


def imported_torch() -> Any:
    """PyTorch.

    Raises:
        MorelloError: it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MorelloError(
            f"PyTorch cannot be imported ({error})", "pip install 'morello[learned]'"
        ) from error
    return torch


def _inputs(nodes: Sequence[Nodes]) -> tuple[tuple[str, ...], Vector]:
    """The features that are looked at, and the largest size of each."""
    count: dict[str, int] = {}
    most: dict[str, float] = {}
    for one in nodes:
        for name, column in zip(one.names, one.rows.T, strict=True):
            count[name] = count.get(name, 0) + int(np.count_nonzero(column))
            most[name] = max(most.get(name, 0.0), float(np.abs(column).max(initial=0)))
    names = tuple(sorted(name for name, number in count.items() if number >= _RARE))
    if not names:  # few programs
        names = tuple(sorted(name for name, number in count.items() if number))
    return names, np.array([most[name] for name in names], np.float64)


def _trained(
    torch: Any,
    tasks: Sequence[_Task],
    inputs: int,
    settings: NetworkSettings,
    seed: int,
) -> Any:
    """One network: layers in a row."""
    random_order = random.Random(seed)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        net = _layers(torch, inputs, settings)
        optimizer = torch.optim.AdamW(
            net.parameters(), lr=settings.rate, weight_decay=settings.decay
        )
        batches = -(-len(tasks) // settings.batch)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, settings.rate, total_steps=settings.epochs * batches + 1
        )
        order = list(range(len(tasks)))
        net.train()
        for _ in range(settings.epochs):
            random_order.shuffle(order)
            for start in range(0, len(order), settings.batch):
                some = [tasks[i] for i in order[start : start + settings.batch]]
                optimizer.zero_grad()
                _loss(torch, net, some, settings).backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
    return net.eval()


def _layers(torch: Any, inputs: int, settings: NetworkSettings) -> Any:
    """A network that begins with the cost model: its last layer is 0."""
    nn = torch.nn
    last = nn.Linear(settings.width, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(
        nn.Linear(inputs, settings.width),
        nn.ReLU(),
        nn.Dropout(settings.dropout),
        nn.Linear(settings.width, settings.width),
        nn.ReLU(),
        last,
    )


def _loss(
    torch: Any, net: Any, tasks: Sequence[_Task], settings: NetworkSettings
) -> Any:
    """The mean of the losses of some Specs."""
    functional = torch.nn.functional
    rows = torch.cat([task.rows for task in tasks])
    factors = torch.exp(net(rows).squeeze(1).clamp(-MOST, MOST))
    total = torch.zeros(())
    start = 0
    for task in tasks:
        end = start + len(task.rows)
        sums = torch.zeros(len(task.costs)).index_add(
            0, task.program, task.shares * factors[start:end]
        )
        start = end
        values = torch.log(sums + LITTLE)
        mean, aim = values.mean(), task.wanted.mean()
        errors = functional.huber_loss(
            values - mean, task.wanted - aim, delta=settings.outlier
        )
        level = functional.huber_loss(mean, aim, delta=2 * settings.outlier)
        total = total + settings.error * errors + settings.level * level
        predicted, taken = values + task.costs, task.wanted + task.costs
        apart = taken[:, None] - taken[None, :]
        ahead = (predicted[:, None] - predicted[None, :]) / settings.sharp
        weights = (apart / settings.same).clamp(0.0, 1.0)
        ranks = weights * functional.softplus(-ahead)
        total = total + settings.order * ranks.mean()
        if task.fusion is not None:
            fast, slow = task.fusion
            weight = settings.fusion * weights[slow, fast]
            total = total + weight * functional.softplus(-ahead[slow, fast])
    return total / len(tasks)


def _numbers(net: Any, scales: Vector) -> Network:
    """A network for features that are not scaled."""
    linear = [layer for layer in net if hasattr(layer, "weight")]
    weights = [layer.weight.detach().numpy().T.astype(np.float64) for layer in linear]
    biases = [layer.bias.detach().numpy().astype(np.float64) for layer in linear]
    weights[0] = weights[0] / scales[:, None]
    return Network(tuple(weights), tuple(biases))
