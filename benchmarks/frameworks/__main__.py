"""Models in PyTorch and JAX with Morello and without, held to AVX2, in turns.

    python -m benchmarks.frameworks torch mlp vit-block resnet18
    python -m benchmarks.frameworks torch --partition --native rows wide-rows vit-block
    python -m benchmarks.frameworks torch bert --native --freeze --beside openvino
    python -m benchmarks.frameworks torch bert --bf16 --native --beside openvino
    python -m benchmarks.frameworks torch layers --eager --freeze --beside onnxruntime
    python -m benchmarks.frameworks jax

One framework a process. Times are of whole calls from Python. Of PyTorch the line ends
with what a call of a group takes beyond the machine code. With `--partition` the parts
of least cost are compared with those of the rule, in place of Inductor; with `--eager`
eager is, whose convolutions and products are those of oneDNN and MKL. With `--bf16`
models and inputs are in bf16, and products may take denormals for zero, as those of the
others do; runtimes of ONNX have the model in f32, and are told to compute in bf16.
"""

import argparse
import copy
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frameworks import exported
from benchmarks.graphs.calls import enough_calls, seconds_of
from benchmarks.graphs.torch_graphs import torch_for
from benchmarks.harness.ours import avx2_target
from benchmarks.harness.priority import before_all_else

LEAST = 0.01
"""Seconds of a turn, at least."""

_BF16 = 2
"""The greatest error of a contender in bf16, as a multiple of that of eager in bf16."""

Call = Callable[[], Any]
Row = tuple[str, list[float]]
"""A line, and the ratios of best times and of medians in it."""


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
    parser.add_argument("--freeze", action="store_true", help="weights are constant")
    parser.add_argument(
        "--beside",
        type=lambda text: text.split(","),
        default=[],
        metavar="RUNTIMES",
        help=f"of exported ONNX, with commas between: {','.join(exported.RUNTIMES)}",
    )
    parser.add_argument("--priority", action="store_true", help="before all else")
    parser.add_argument("--bf16", action="store_true", help="models in bf16")
    parser.add_argument("--native", action="store_true", help="hold nobody to AVX2")
    parser.add_argument("--partition", action="store_true", help="parts of least cost")
    parser.add_argument("--eager", action="store_true", help="eager for Inductor")
    options = parser.parse_intermixed_args(words)
    if (options.partition or options.beside) and options.framework == "jax":
        parser.error("--partition, --beside: their models are those of torch")
    if unknown := set(options.beside) - set(exported.RUNTIMES):
        parser.error(f"--beside: no runtime is called {', '.join(sorted(unknown))}")
    for runtime in options.beside:
        if importlib.util.find_spec(runtime) is None:
            parser.error(f"--beside: {runtime} is not installed: pip install {runtime}")
    if options.priority and options.framework == "jax":
        parser.error("--priority: XLA computes on threads of its own, which would wait")
    return options


def _in_turns(calls: Sequence[Call], options: argparse.Namespace) -> list[list[float]]:
    """Microseconds of a call, for each turn of each contender."""
    samples: list[list[float]] = [[] for _ in calls]
    with before_all_else(options.priority):
        count = enough_calls(calls[0], LEAST)
        for _ in range(options.turns):
            for call, times in zip(calls, samples, strict=True):
                times.append(1e6 * seconds_of(call, count))
    return samples


def _line(
    name: str, times: dict[str, list[float]], rest: str, eager: bool = False
) -> Row:
    """A row: the best times, and the least of the others over ours.

    Args:
        times: of ours first, in the order of the columns; of a contender that takes no
            part there are none.
        eager: whether eager is among those that ratios are of.
    """
    best = {who: min(turns) for who, turns in times.items() if turns}
    median = {who: float(np.median(turns)) for who, turns in times.items() if turns}
    ours, *others = (who for who in best if eager or who != "eager")
    ratios = [
        min(of_contender[who] for who in others) / of_contender[ours]
        for of_contender in (best, median)
    ]
    cells = " ".join(
        f"{best[who]:11.1f}" if who in best else f"{'-':>11}" for who in times
    )
    return f"{name:12} {cells} {ratios[0]:6.3f} {ratios[1]:7.3f}   {rest}", ratios


def _print_rows(rows: Iterable[Row]) -> None:
    """Print lines as they come, and at last what their ratios are together."""
    every = []
    for line, ratios in rows:
        print(line, flush=True)
        every.append(ratios)
    for name, ratios in zip(("best", "medians"), zip(*every, strict=True), strict=True):
        mean = np.exp(np.mean(np.log(ratios)))
        print(f"{name}: geometric mean {mean:.3f}, least {min(ratios):.3f}")


def _torch(options: argparse.Namespace) -> None:
    if options.native:
        torch: Any = importlib.import_module("torch")
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
    else:
        torch = torch_for(1)
        inductor: Any = importlib.import_module("torch._inductor.config")
        inductor.cpp.simdlen = 256
    torch._dynamo.config.allow_rnn = True
    models: Any = importlib.import_module("benchmarks.frameworks.torch_models")
    others = ("rule",) if options.partition else (*_inductor(options), *options.beside)
    first = "least cost" if options.partition else "Morello"
    columns = " ".join(f"{name:>11}" for name in (first, *others, "eager"))
    print(f"{'model':12} {columns}   best  median  (µs)")
    names = [
        name
        for word in options.models or models.SMALL
        for name in models.SUITES.get(word, (word,))
    ]
    _print_rows(_model(torch, name, models.MODELS[name], options) for name in names)


def _inductor(options: argparse.Namespace) -> tuple[str, ...]:
    """The name of Inductor, if it takes part."""
    return () if options.eager else ("Inductor",)


def _model(torch: Any, name: str, make: Any, options: argparse.Namespace) -> Row:
    """The row of a model.

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
    model, inputs = make()
    model.eval()
    exact, exact_inputs = model, inputs
    wanted = _tensors(torch, model(*inputs))
    if options.bf16:
        model = copy.deepcopy(model).bfloat16()
        inputs = tuple(t.bfloat16() if t.is_floating_point() else t for t in inputs)
    target = {} if options.native else {"target": options.target}
    backend: Any = importlib.import_module("morello.torch.dynamo_backend")
    backend.Group = Noted
    settings = {"wait": True, "threads": 1, "freeze": options.freeze, **target}
    settings |= {"pack": True} if options.pack else {}
    settings |= {"flushing": True} if options.bf16 else {}
    calls: dict[str, Call] = {}
    bounds = [1e-4 * max(1.0, float(other.abs().max())) for other in wanted]
    if options.bf16:
        rounded = _tensors(torch, model(*inputs))
        bounds = [_BF16 * _error(o, w) for o, w in zip(rounded, wanted, strict=True)]
    add = partial(_add, torch, calls, wanted, bounds)

    def compiled(who: str, **how: Any) -> float:
        began = time.perf_counter()
        call = torch.compile(model, **how)
        add(who, lambda: call(*inputs))
        return time.perf_counter() - began

    def ours(who: str, **more: Any) -> float:
        return compiled(who, backend="morello", options=settings | more)

    first = ours("ours", **({"partition": "cost"} if options.partition else {}))
    noted = tuple(groups)
    assert noted
    assert all(one.native is not None for one in noted)
    if options.partition:
        other = ours("rule")
    elif not options.eager:
        compiled("Inductor", options={"freezing": True})
    backend.Group = group.Group
    failed = _add_runtimes(torch, exact, exact_inputs, add, options)
    add("eager", lambda: model(*inputs))
    turns = _in_turns(list(calls.values()), options)
    others = ("rule",) if options.partition else _inductor(options)
    columns = ("ours", *others, *options.beside, "eager")
    times: dict[str, list[float]] = {who: [] for who in columns}
    times |= zip(calls, turns, strict=True)
    rest = f"found in {first:.1f} s"
    if options.partition:
        parts = [one.native.compiled.specs for one in groups]
        same = parts[: len(noted)] == parts[len(noted) :]
        rest += f", then by the rule in {other:.1f} s"
        return _line(name, times, rest + ": the same parts" * same)
    if options.beside:
        rest += f", groups: {len(noted)}{failed}"
        return _line(name, times, rest, options.eager)
    beyond = " and ".join(_beyond(torch, one, options) for one in noted)
    rest += f", a group takes {beyond} µs beyond its code"
    return _line(name, times, rest, options.eager)


def _error(result: Any, exact: Any) -> float:
    """The greatest difference of two tensors of floats."""
    return float((result.float() - exact).abs().max())


def _add(
    torch: Any,
    calls: dict[str, Call],
    wanted: list[Any],
    bounds: list[float],
    who: str,
    call: Call,
) -> None:
    """Add a contender whose results are as wanted.

    Args:
        wanted: the results of eager in f32.
        bounds: the greatest difference from each.

    Raises:
        AssertionError: they are not.
    """
    for result, other, bound in zip(
        _tensors(torch, call()), wanted, bounds, strict=True
    ):
        torch.testing.assert_close(result.float(), other, rtol=1e-3, atol=bound)
    calls[who] = call


def _add_runtimes(
    torch: Any,
    model: Any,
    inputs: Any,
    add: Callable[[str, Call], None],
    options: argparse.Namespace,
) -> str:
    """Add runtimes of exported models; why others take no part, as an end of a line.

    Raises:
        ImportError: a runtime is not installed.
    """
    failed, runtimes = "", options.beside
    with tempfile.TemporaryDirectory(prefix="morello-frameworks-") as folder:
        path = Path(folder) / "model.onnx"
        if runtimes:
            exported.export(torch, model, inputs, path)
        for runtime in runtimes:
            try:
                add(runtime, exported.RUNTIMES[runtime](path, inputs, options.bf16))
            except (RuntimeError, AssertionError) as error:
                failed += f"; {runtime}: {str(error).strip().splitlines()[-1]}"
    return failed


def _tensors(torch: Any, result: Any) -> list[Any]:
    """The tensors of a result: of PyTorch's own, or of arrays."""
    if isinstance(result, (tuple, list)):
        return [tensor for part in result for tensor in _tensors(torch, part)]
    return [torch.as_tensor(result)]


def _beyond(torch: Any, group: Any, options: argparse.Namespace) -> str:
    """Microseconds that a call of a group takes beyond its machine code.

    Both read the same memory. What is given is the median of the differences in turns,
    and how far half of them lie around it: turns of a large model differ by more than a
    call costs.
    """
    from morello.torch.native_call import array_of

    tensors = []
    for array in group._inputs:
        assert array.is_contiguous()
        # Variances are among the floats, and places among the integers.
        numbers = torch.rand(tuple(array.shape)) + 0.5
        is_number = array.is_floating_point()
        tensors.append((numbers if is_number else 0 * numbers).to(array.dtype))
    group(*tensors)
    native = group.native
    compiled = native.compiled
    held = native.weights.held(tensors).arrays
    outputs = [p for p in compiled.parameters if p.is_output]
    outs = [np.empty(p.shape, p.dtype) for p in outputs]
    arrays = [array_of(tensor) for tensor in tensors]
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
    names = options.models or functions
    _print_rows(_function(jax, name, *functions[name], options) for name in names)


def _function(
    jax: Any, name: str, function: Any, shapes: Any, options: argparse.Namespace
) -> Row:
    """The row of a function.

    Raises:
        AssertionError: the results differ.
    """
    import morello.jax

    rng = np.random.default_rng(0)
    arrays = [
        jax.numpy.asarray(rng.standard_normal(shape, np.float32) / shape[0] ** 0.5)
        for shape in shapes
    ]
    target = {} if options.native else {"target": options.target}
    began = time.perf_counter()
    ours = morello.jax.compile(function, *arrays, threads=1, **target)
    rest = f"found in {time.perf_counter() - began:.1f} s"
    mine = jax.jit(ours).lower(*arrays).compile()
    theirs = jax.jit(function).lower(*arrays).compile()
    np.testing.assert_allclose(mine(*arrays), theirs(*arrays), rtol=1e-3, atol=1e-4)
    calls = [
        lambda: mine(*arrays).block_until_ready(),
        lambda: theirs(*arrays).block_until_ready(),
    ]
    times = _in_turns(calls, options)
    return _line(name, dict(zip(("ours", "XLA"), times, strict=True)), rest)


if __name__ == "__main__":
    main()
