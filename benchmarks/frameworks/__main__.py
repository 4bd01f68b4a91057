"""Models in PyTorch and JAX with Morello and without, held to AVX2, in turns.

    python -m benchmarks.frameworks torch mlp vit-block resnet18
    python -m benchmarks.frameworks torch --partition --native rows wide-rows vit-block
    python -m benchmarks.frameworks jax

One framework a process. Times are of whole calls from Python. Of PyTorch the line ends
with what a call of a group takes beyond the machine code. With `--partition` the parts
of least cost are compared with those of the rule, in place of Inductor.
"""

import argparse
import importlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.graphs.calls import enough_calls, seconds_of
from benchmarks.graphs.torch_graphs import torch_for
from benchmarks.harness.ours import avx2_target
from benchmarks.harness.priority import before_all_else

LEAST = 0.01
"""Seconds of a turn, at least."""

Call = Callable[[], Any]


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print a line for each model."""
    options = _options(words)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    run = _torch if options.framework == "torch" else _jax
    run(options)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frameworks")
    parser.add_argument("framework", choices=("torch", "jax"))
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--target", default=avx2_target()[0], metavar="TARGET")
    parser.add_argument("--turns", type=int, default=25, metavar="N")
    parser.add_argument("--pack", action="store_true", help="keep weights in panels")
    parser.add_argument("--priority", action="store_true", help="before all else")
    parser.add_argument("--native", action="store_true", help="hold nobody to AVX2")
    parser.add_argument("--partition", action="store_true", help="parts of least cost")
    found = parser.parse_intermixed_args(words)
    if found.partition and found.framework == "jax":
        parser.error("--partition: its models are those of torch")
    if found.priority and found.framework == "jax":
        parser.error("--priority: XLA computes on threads of its own, which would wait")
    return found


def _in_turns(calls: Sequence[Call], options: argparse.Namespace) -> list[list[float]]:
    """Microseconds of a call, for each turn of each contender."""
    count = enough_calls(calls[0], LEAST)
    found: list[list[float]] = [[] for _ in calls]
    with before_all_else(options.priority):
        for _ in range(options.turns):
            for call, times in zip(calls, found, strict=True):
                times.append(1e6 * seconds_of(call, count))
    return found


def _line(name: str, times: list[list[float]], rest: str) -> str:
    best = [min(own) for own in times]
    median = [float(np.median(own)) for own in times]
    cells = " ".join(f"{value:11.1f}" for value in best)
    ratios = f"{best[1] / best[0]:6.3f} {median[1] / median[0]:7.3f}"
    return f"{name:12} {cells} {ratios}   {rest}"


def _torch(options: argparse.Namespace) -> None:
    if options.native:
        torch: Any = importlib.import_module("torch")
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
    else:
        torch = torch_for(1)
        inductor: Any = importlib.import_module("torch._inductor.config")
        inductor.cpp.simdlen = 256
    models: Any = importlib.import_module("benchmarks.frameworks.torch_models")
    names = ("least cost", "rule") if options.partition else ("Morello", "Inductor")
    columns = " ".join(f"{name:>11}" for name in (*names, "eager"))
    print(f"{'model':12} {columns}   best  median  (µs)")
    for name in options.models or models.MODELS:
        print(_model(torch, name, *models.MODELS[name], options), flush=True)


def _model(
    torch: Any, name: str, make: Any, shape: Any, options: argparse.Namespace
) -> str:
    """The line of a model.

    Raises:
        AssertionError: a result differs, or a group is not compiled.
    """
    from morello.torch import group

    groups: list[Any] = []

    class Noted(group.Group):
        def start(self) -> None:
            groups.append(self)
            super().start()

    torch._dynamo.reset()
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(shape)
    target = {} if options.native else {"target": options.target}
    backend: Any = importlib.import_module("morello.torch.dynamo_backend")
    backend.Group = Noted
    given = {"wait": True, "threads": 1, "pack": options.pack, **target}
    wanted = model(x)

    def compiled(**how: Any) -> tuple[Call, float]:
        began = time.perf_counter()
        call = torch.compile(model, **how)
        torch.testing.assert_close(call(x), wanted, rtol=1e-3, atol=1e-4)
        return lambda: call(x), time.perf_counter() - began

    def ours(**more: Any) -> tuple[Call, float]:
        return compiled(backend="morello", options=given | more)

    first = ours(partition="cost") if options.partition else ours()
    noted = tuple(groups)
    assert noted
    assert all(own.native is not None for own in noted)
    other = ours() if options.partition else compiled(options={"freezing": True})
    backend.Group = group.Group
    times = _in_turns([first[0], other[0], lambda: model(x)], options)
    rest = f"found in {first[1]:.1f} s"
    if options.partition:
        parts = [own.native.compiled.specs for own in groups]
        same = parts[: len(noted)] == parts[len(noted) :]
        rest += f", then by the rule in {other[1]:.1f} s"
        return _line(name, times, rest + ": the same parts" * same)
    beyond = " and ".join(_beyond(torch, own, options) for own in noted)
    return _line(name, times, f"{rest}, a group takes {beyond} µs beyond its code")


def _beyond(torch: Any, group: Any, options: argparse.Namespace) -> str:
    """Microseconds that a call of a group takes beyond its machine code.

    Both read the same memory. What is given is the median of the differences in turns,
    and how far half of them lie around it: turns of a large model differ by more than a
    call costs.
    """
    tensors = [torch.randn(tuple(given.shape)) for given in group._inputs]
    for tensor, given in zip(tensors, group._inputs, strict=True):
        assert given.is_contiguous()
        tensor.abs_().add_(0.5)  # variances among them
    group(*tensors)
    native = group.native
    compiled = native.compiled
    held = native.weights.held(tensors).arrays
    outputs = [p for p in compiled.parameters if p.is_output]
    outs = [np.empty(p.shape, p.dtype) for p in outputs]
    arrays = [tensor.numpy() for tensor in tensors]
    bare = compiled._function.bind(*arrays, *held, *outs)
    whole, alone = _in_turns([lambda: group(*tensors), bare], options)
    low, middle, high = np.percentile(np.subtract(whole, alone), (25, 50, 75))
    return f"{middle:.2f} ± {(high - low) / 2:.2f}"


def _jax(options: argparse.Namespace) -> None:
    from benchmarks.frameworks import jax_functions

    if options.native:
        jax: Any = importlib.import_module("jax")
    else:
        jax = jax_functions.start()
        if not jax_functions.hold(jax):
            print("XLA's library is not held to AVX2: this jaxlib has other names")
    functions = jax_functions.functions(jax)
    print(f"{'function':12} {'Morello':>11} {'XLA':>11}   best  median  (µs)")
    for name in options.models or functions:
        print(_function(jax, name, *functions[name], options), flush=True)


def _function(
    jax: Any, name: str, function: Any, shapes: Any, options: argparse.Namespace
) -> str:
    """The line of a function.

    Raises:
        AssertionError: the results differ.
    """
    import morello.jax

    rng = np.random.default_rng(0)
    given = [
        jax.numpy.asarray(rng.standard_normal(shape, np.float32) / shape[0] ** 0.5)
        for shape in shapes
    ]
    target = {} if options.native else {"target": options.target}
    began = time.perf_counter()
    ours = morello.jax.compile(function, *given, threads=1, **target)
    rest = f"found in {time.perf_counter() - began:.1f} s"
    mine = jax.jit(ours).lower(*given).compile()
    theirs = jax.jit(function).lower(*given).compile()
    np.testing.assert_allclose(mine(*given), theirs(*given), rtol=1e-3, atol=1e-4)
    calls = [
        lambda: mine(*given).block_until_ready(),
        lambda: theirs(*given).block_until_ready(),
    ]
    return _line(name, _in_turns(calls, options), rest)


if __name__ == "__main__":
    main()
