"""A file with a program on a command line: a model of several Specs."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError
from morello.explain.words import GIGAHERTZ, Clock, percent
from morello.frontends.grouping.packing import opened
from morello.frontends.grouping.partition import Join
from morello.frontends.mlir import from_mlir
from morello.frontends.model import Model
from morello.frontends.onnx import from_onnx
from morello.machine import Target
from morello.runtime.calls.parameter import Parameter
from morello.search.storage.overlay import NONE, default_path, open_database
from morello.spec import Array, OpenSpec
from morello.tools.array_files import read_array
from morello.tools.common_flags import Searched
from morello.tools.flags import Shapes
from morello.tools.input_output import UsageError, input_name, read_mlir
from morello.tools.model_files import ONNX
from morello.tools.progress import progress
from morello.tools.request import Request, patience_of, tool_target
from morello.tools.subjects import Files, Subject, sources_text
from morello.tools.table import time_text

_TOLERANCES = {"float32": 1e-3, "bfloat16": 5e-2, "float16": 1e-2}
"""The allowed error of a result, as a part of its largest element."""


def read_model(
    spec: str, fallback: bool = False, schedule: str | None = None, shapes: Shapes = ()
) -> Model:
    """The model in a file.

    Args:
        schedule: a given one is refused.
        shapes: of inputs of a model of ONNX.

    Raises:
        MorelloError: it cannot be read, or has ops without a Spec.
    """
    if schedule is not None:
        raise UsageError(
            "argument --schedule: a model has several Specs",
            "give the Spec of one part, as 'morello explain' lists them",
        )
    if spec.endswith(ONNX):
        return _read_onnx(spec, fallback, shapes)
    if shapes:
        raise UsageError(
            "argument --shape: it is for models of ONNX",
            "leave it out; a program of MLIR has its shapes",
        )
    return from_mlir(read_mlir(spec), source=input_name(spec), fallback=fallback)


def _read_onnx(path: str, fallback: bool, shapes: Shapes) -> Model:
    by_name = dict(shapes)
    if len(by_name) < len(shapes):
        raise UsageError("argument --shape: an input is named twice", "name it once")
    try:
        return from_onnx(path, shapes=by_name, fallback=fallback)
    except OSError as error:
        raise UsageError(
            f"{path}: error: cannot read: {error.strerror}", "give a file of ONNX"
        ) from error
    except ImportError as error:
        raise UsageError(
            f"a model of ONNX needs the package {error.name or 'onnx'}",
            "pip install 'morello[onnx]'",
        ) from error


def part_requests(model: Model, target: str | None, db: str | None) -> list[Request]:
    """The Spec of each part of a model, as if a command line gave it."""
    machine = tool_target(target)
    laid_out = dataclasses.replace(machine, relayouts=False)
    requests = []
    for part in model.parts:
        free = opened(model.tensors, model.steps, part, weights=False)
        goal = OpenSpec(part.spec(machine.limits), free)
        searched = laid_out if part.is_laid_out else machine
        requests.append(Request(goal, searched, None, db))
    return requests


def tilings_summary(model: Model, clock: Clock) -> Iterator[str]:
    """The convolutions that are computed by Winograd's algorithm, with their errors."""
    if model.tilings:
        yield "by Winograd's algorithm:\n"
    for one in model.tilings:
        yield f"  {one.text(clock.micros)}\n"


def parts_summary(
    joins: list[Join], costs: list[int], times: list[float | None], clock: Clock
) -> Iterator[str]:
    """The predicted time of each part, the measured one where it was tuned or timed,
    and why each two of them are not one."""
    whole = sum(costs)
    if not whole:
        return
    known = [seconds for seconds in times if seconds is not None]
    took = f"  (measured: {time_text(sum(known))})" if len(known) == len(times) else ""
    yield f"\npredicted: {clock.cost(whole)}{took}\n"
    for number, (cost, seconds) in enumerate(zip(costs, times, strict=True)):
        took = "" if seconds is None else f"  (measured: {time_text(seconds)})"
        share = percent(cost / whole)
        yield f"  part {number}: {clock.micros(cost)}, {share}{took}\n"
    if joins:
        yield "not joined:\n"
    for join in joins:
        apart = sum(costs[i] for i in join.parts)
        yield f"  {join.text(apart, clock.micros)}\n"


@dataclasses.dataclass(frozen=True)
class Closeness:
    """The distance of a model's results from the definition of its parts."""

    of_allowed: float
    """The greatest error, as a part of the allowed one."""

    @property
    def holds(self) -> bool:
        """Whether the results are right."""
        return self.of_allowed <= 1

    def __str__(self) -> str:
        if not self.holds:
            return (
                f"the results are {self.of_allowed:.3g} times as far from the "
                "definition of its parts as they may be"
            )
        part = f"{100 * self.of_allowed:.3g} %"
        return f"within {part} of the allowed difference from the definition"


class ModelSubject(Subject):
    """A model, on random inputs of deviation 1 unless files give them."""

    kind = "model"

    def __init__(self, options: Searched, seed: int) -> None:
        self.target: Target = tool_target(options.target)
        self.model = read_model(
            options.spec, options.fallback, options.schedule, options.shape
        )
        self._chosen = self.model
        """The model that is compiled."""
        self._options = options
        self._seed = seed
        self._files: dict[str, str] = {}
        self._arrays: dict[str, Array] = {}

    @property
    def text(self) -> str:
        """The file."""
        return self._options.spec

    def compile(self, threads: int, tune: bool | None, load: bool = True) -> Kernel:
        """All parts as one kernel."""
        options = self._options
        with progress(f"searching for the parts of {options.spec}") as show:
            part = ""

            def begin(text: str) -> None:
                nonlocal part
                part = text
                show(text)

            patience = patience_of(
                options.time_limit, lambda text: show(f"{part}: {text}")
            )
            db = open_database(options.db, default=default_path) or NONE
            if options.winograd:
                part = "pricing convolutions"
                self._chosen, _ = self.model.partitioned(
                    "rule",
                    winograd=True,
                    target=self.target,
                    threads=threads,
                    db=db,
                    time_limit=patience,
                )
            return self._chosen.compile(
                target=self.target,
                threads=threads,
                db=db,
                time_limit=patience,
                tune=tune,
                progress=begin,
                jobs=options.jobs,
                load=load,
            )

    def read(self, files: Files) -> None:
        """Take arguments from files."""
        parameters = {p.name: p for p in self._inputs}
        for name, path in files:
            if name not in parameters or name in self._files:
                raise ArgumentError(
                    f"--input {name}=…: {self.model.name} has no such argument, or it "
                    "is given twice",
                    f"its arguments are {', '.join(parameters) or 'none'}",
                )
            parameter = parameters[name]
            self._files[name] = path
            self._arrays[name] = read_array(
                path, parameter.role, parameter.dtype, parameter.shapes
            )

    @property
    def _inputs(self) -> list[Parameter]:
        return [p for p in self.model.parameters if not p.is_output]

    def arguments(self, kernel: Kernel) -> list[Array]:
        """Draw the inputs, equal in every run, and fill new outputs with a byte
        pattern."""
        rng = np.random.default_rng(self._seed)
        drawn = {p.name: _drawn(rng, p) for p in self._inputs} | self._arrays
        outputs = [p for p in self.model.parameters if p.is_output]
        return [*(drawn[p.name] for p in self._inputs), *map(_poisoned, outputs)]

    def judge(self, arguments: Sequence[Array]) -> Closeness:
        """Compare results with the definition of the parts, element by element."""
        count = len(self._inputs)
        wanted = self.model.evaluate(*arguments[:count])
        several = wanted if isinstance(wanted, tuple) else (wanted,)
        pairs = zip(arguments[count:], several, strict=True)
        return Closeness(
            max((_error(result, want) for result, want in pairs), default=0.0)
        )

    def outputs(self, arguments: Sequence[Array]) -> dict[str, Array]:
        """The results by name."""
        names = [p.name for p in self.model.parameters if p.is_output]
        return dict(zip(names, arguments[len(self._inputs) :], strict=True))

    @property
    def sources(self) -> str:
        """The file of each argument, or the seed."""
        return sources_text([p.name for p in self._inputs], self._files, self._seed)

    def describe(self) -> str:
        """The parts of the model."""
        tilings = tilings_summary(self._chosen, Clock(GIGAHERTZ))
        return "".join([f"{self._chosen}\n", *tilings])


def _drawn(rng: np.random.Generator, parameter: Parameter) -> Array:
    return rng.standard_normal(parameter.shape, np.float32).astype(parameter.dtype)


def _poisoned(parameter: Parameter) -> Array:
    """An output before a call, so that an element that is not written shows."""
    array = np.empty(parameter.shape, parameter.dtype)
    array.reshape(-1).view(np.uint8)[...] = 0xA5
    return array


def _error(result: Array, wanted: Array) -> float:
    """The greatest error of a result, as a part of the allowed one."""
    one, other = result.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return float("inf")
    scale = float(np.nanmax(np.abs(other), initial=0.0)) or 1.0
    error = float(np.nanmax(np.abs(one - other), initial=0.0)) / scale
    return error / _TOLERANCES.get(result.dtype.name, 1e-9)
