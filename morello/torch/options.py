"""The options of ``torch.compile(model, backend="morello", options={…})``."""

import dataclasses
import functools
import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from morello.compiler.searches import tuning_time
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.errors import ArgumentError
from morello.frontends.grouping.partition import Partition, checked_partition
from morello.search.queries.best_program import Patience
from morello.suggestions import did_you_mean


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of the backend that a user may set.

    Args:
        threads: the most threads that a group may use; by default those of
            ``torch.get_num_threads()``.
        target: as `morello.compile` takes it.
        database: as ``db`` of `morello.compile`.
        time_limit: seconds of the searches of a group, which its parts share.
        jobs: how many processes search for a group's parts; each takes up to 600 MB.
        tune: of each part of a group, as ``tune`` of `morello.compile`.
        wait: compile before the first call, not concurrently with the first calls.
        freeze: believe PyTorch's counters of changes of parameters and buffers, and
            do not read, in each call, those of which something was computed. Changes
            through ``.data``, NumPy or shared memory are missed then.
        pack: keep copies of weights of products in the layout that is found to be best
            for them; by default where weights are frozen.
        partition: as `morello.frontends.model.Model.compile` takes it.
        shapes: how many shapes of a graph whose shapes are dynamic are compiled.
        batch: the greatest size of a dynamic dimension for which one program
            is compiled, with all that are smaller; 0 for one of each shape. Also the
            most keys of a cache that grows.
        flushing: as `morello.from_mlir` takes it; by default where eager's products of
            bf16 take denormals for zero.
        winograd: as `morello.frontends.model.Model.compile` takes it.
    """

    threads: int | None = None
    target: str | None = None
    database: str | None = None
    time_limit: float | None = None
    jobs: int = 1
    tune: bool | float | None = None
    wait: bool = False
    freeze: bool = False
    pack: bool | None = None
    partition: Partition = "rule"
    shapes: int = 8
    batch: int = 0
    flushing: bool | None = None
    winograd: bool = False

    @property
    def packs(self) -> bool:
        """Whether copies of weights are kept in other layouts."""
        return self.freeze if self.pack is None else self.pack

    @property
    def flushes(self) -> bool:
        """Whether products of bf16 may take denormals for zero."""
        return eager_flushes() if self.flushing is None else self.flushing

    @classmethod
    def read(cls, choices: Mapping[str, Any] | None) -> "Options":
        """The options that a user gave.

        Raises:
            ArgumentError: one that does not exist, or has no such value.
            MorelloError: no such threads, target, time limit, tuning or partition.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for name in choices or {}:
            if name not in known:
                raise ArgumentError(
                    f"the backend 'morello' has no option '{name}'",
                    f"it has {', '.join(known)}{did_you_mean(str(name), known)}",
                )
        options = cls(**(choices or {}))
        options._check()
        return options

    def _check(self) -> None:
        checked_partition(self.partition)
        chosen_target(self.target)
        thread_count(self.threads)
        Patience.of(self.time_limit)
        tuning_time(self.tune)
        for name, least in (("jobs", 1), ("shapes", 0), ("batch", 0)):
            _check_count(name, getattr(self, name), least)
        for name in ("wait", "freeze", "winograd"):
            _check_truth(name, getattr(self, name))
        for name in ("pack", "flushing"):
            if getattr(self, name) is not None:
                _check_truth(name, getattr(self, name))


@functools.cache
def eager_flushes() -> bool:
    """Whether eager's products of bf16 take denormals for zero on this CPU: one whose
    products are 2^-128, and whose sums 2^-122, is asked.
    """
    with unset_fake_temporarily(), torch.no_grad():
        small = torch.full((32, 64), 2.0**-64, dtype=torch.bfloat16, device="cpu")
        return not bool((small @ small.T).any())


def _check_count(name: str, value: Any, least: int) -> None:
    try:
        is_count = operator.index(value) >= least and not isinstance(value, bool)
    except TypeError:
        is_count = False
    if not is_count:
        raise ArgumentError(
            f"'{name}' is {value!r}", f"give an integer of at least {least}"
        )


def _check_truth(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ArgumentError(f"'{name}' is {value!r}", "give True or False")
