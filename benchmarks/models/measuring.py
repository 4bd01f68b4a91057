"""Timing shapes: products by `benchmarks.peers`' contenders, graphs beside PyTorch."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator

from benchmarks.harness.backend import MissingError
from benchmarks.harness.case import Case
from benchmarks.harness.measure import Field
from benchmarks.harness.ours import command
from benchmarks.harness.process import Command, ContenderError, Process
from benchmarks.harness.provenance import ROOT
from benchmarks.harness.session import contenders, plan_of, roofs_command
from benchmarks.models.layers import Layer
from benchmarks.models.record import Shape
from benchmarks.peers.registry import PEERS, Place

_SEARCH_SECONDS = 1800.0
"""Longest time of an answer before which a search runs."""

Commands = dict[str, Command | MissingError]


def tunings(options: argparse.Namespace) -> dict[str, str]:
    """Our contenders, and what each is told of tuning."""
    tuned = {} if options.tune is None else {"tuned": str(options.tune)}
    return {"morello": "no", **tuned}


def products(
    layers: list[Layer], options: argparse.Namespace, db: str, origin: dict[str, str]
) -> Iterator[Shape]:
    """Shapes of products, timed by processes that take turns.

    Raises:
        MissingError: Morello cannot be started.
    """
    if not layers:
        return
    place = Place(options.folder, options.threads)
    commands: Commands = {
        name: command(options.threads, ROOT, db, tune=tune)
        for name, tune in tunings(options).items()
    }
    for name in options.peers:
        try:
            commands[name] = PEERS[name](place)
        except MissingError as error:
            commands[name] = error
    roofs = roofs_command(options.threads)
    try:
        with contenders(commands) as every:
            if "morello" not in every.running:
                raise MissingError("Morello cannot be started")
            for layer in layers:
                every.revive()
                field = Field(every.running, roofs, options.threads, plan_of(options))
                yield Shape.of(field.measure(Case.parse(layer.spec), origin))
    finally:
        roofs.close()


def graphs(
    layers: list[Layer], options: argparse.Namespace, db: str, origin: dict[str, str]
) -> Iterator[Shape]:
    """Shapes of graphs, timed in one process with PyTorch.

    Raises:
        MissingError: Morello cannot be started.
    """
    if not layers:
        return
    with contextlib.closing(_GraphProcess(options, db)) as process:
        for layer in layers:
            before = os.getloadavg()[0]
            seconds = process.measure(layer.spec)
            load = max(before, os.getloadavg()[0])
            samples = {n: tuple(s) for n, s in seconds["samples"].items()}
            yield Shape(layer.spec, samples, seconds["failed"], round(load, 2), origin)


class _GraphProcess:
    """A `graph_worker` that is started again when it ends."""

    def __init__(self, options: argparse.Namespace, db: str) -> None:
        self._options = options
        self._db = db
        self._missing = ""
        self._process = self._started()

    def measure(self, spec: str) -> dict[str, dict[str, object]]:
        """Measure a Spec; returns the worker's answer, or that the worker
        ended."""
        options = self._options
        request = {
            "do": "measure",
            "spec": spec,
            "ours": tunings(options),
            "seconds": options.seconds,
            "sample": options.sample,
            "rounds": options.rounds,
            "priority": options.priority,
        }
        try:
            answer = self._process.ask(request, _SEARCH_SECONDS)
        except ContenderError as error:
            self._process.close()
            self._process = self._started()
            answer = {"samples": {}, "failed": {"morello": f"failed: {error}"}}
        if self._missing:
            answer["failed"].setdefault("torch", f"missing: {self._missing}")
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _started(self) -> Process:
        """A process with PyTorch where there is one.

        Raises:
            MissingError: none can import Morello.
        """
        wanted = "torch" in self._options.peers
        place = Place(self._options.folder, self._options.threads)
        interpreters = [sys.executable]
        if wanted:
            with contextlib.suppress(MissingError):
                interpreters.insert(0, place.python("torch"))
        last = ""
        for interpreter in interpreters:
            words = [interpreter, "-m", "benchmarks.models.graph_worker"]
            line = (*words, str(self._options.threads), self._db)
            process = Process(Command("", self._options.threads, line=line))
            try:
                answer = process.ask({"do": "open", "torch": wanted}, _SEARCH_SECONDS)
            except ContenderError as error:
                last = str(error)
                process.close()
                continue
            self._missing = answer.get("missing", "")
            return process
        raise MissingError(f"Morello cannot be started: {last}")
