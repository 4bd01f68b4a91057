"""What holds of kinds with several outputs and windows: ``python -m tests.kinds.checks
NAME``, in a process of its own (see `tests.kinds.shown`)."""

import random
import sys
import tempfile

import numpy as np

import morello
from morello.spec import Spec, parse_spec, print_spec
from morello.spec.kinds import instances_of
from tests.kinds.shown import SHOWN, TARGET, register

SPECS = (
    "extent:6x9:s32",
    "extent:37x50:s32:src=[1,0]",
    "extent:8x32:s32:src=[1,0,0p4]",
    "slide:6x3:s32",
    "slide:33x7:s32:steps=2,3",
    "slide_accum:20x12:s32:steps=5,1",
    "slide:300x40:s32:l1=64:l2=1024",
)


def specs() -> list[Spec]:
    """The Specs that programs are made for."""
    return [parse_spec(text, TARGET.limits) for text in SPECS]


def text() -> None:
    """Their text is read back, and shapes follow from the windows."""
    for spec in specs():
        assert parse_spec(print_spec(spec, TARGET.limits), TARGET.limits) == spec
    spaced = parse_spec("slide:33x7:s32:steps=2,3", TARGET.limits)
    assert spaced.shape(0) == (2 * 32 + 3 * 6 + 1,)
    assert spaced.kind.reductions == (1,)
    assert specs()[0].kind.written == (1, 2)


def kernels() -> None:
    """Compiled, they give the definition's outputs."""
    from morello.compiler.tuning.trial import Trial

    for threads in (1, 2):
        for spec in specs():
            kernel = morello.compile(spec, target="shown", threads=threads)
            trial = Trial.make(spec, 3, {})
            verdict = trial.judge(trial.run(kernel))
            assert verdict.is_exact, f"{spec}: {verdict}"
    source = np.arange(54, dtype=np.int32).reshape(6, 9)
    low, high = morello.compile("extent:6x9:s32", target="shown")(source)
    assert np.array_equal(low, source[:, 0])
    assert np.array_equal(high, source[:, -1])


def wrong() -> None:
    """An output that is wrong is named, whichever it is."""
    from morello.compiler.tuning.verify import judge

    spec = specs()[0]
    inputs = spec.random(np.random.default_rng(1))
    low, high = spec.evaluate(*inputs)
    assert judge(spec, inputs, (low, high), exact=True).holds
    assert "high[0] is" in str(judge(spec, inputs, (low, high + 1), exact=True))
    assert "low[0] is" in str(judge(spec, inputs, (low + 1, high), exact=True))


def optimum() -> None:
    """No enumerated program of a random goal is better than the one of the search."""
    from morello.search import Solver
    from tests.search.agreement import Agreement, compare
    from tests.search.brute_force import BruteForce
    from tests.search.goals import random_goal

    for kind in (instance for shown in SHOWN for instance in instances_of(shown)):
        agreement = Agreement()
        for seed in range(25):
            spec = random_goal(random.Random(f"{kind} {seed}"), kind)
            compare(spec, Solver(TARGET), BruteForce(TARGET, 1500), agreement)
        assert agreement.mismatches == [], agreement.mismatches[:3]
        assert agreement.programs[kind.label] >= 20, agreement


def dialect() -> None:
    """Random schedules keep the meaning, and Specs in the IR are those that actions
    predict."""
    from morello.dialect import load
    from morello.mlir import ir
    from tests.dialect import programs, test_agreement, test_meaning

    programs.KINDS = tuple(i for shown in SHOWN for i in instances_of(shown))
    with ir.Context() as context:
        load(context)
        for seed in range(20):
            test_meaning.test_a_program_computes_its_spec(seed)
            test_agreement.test_the_ir_holds_the_predicted_holes(seed)


def explained() -> None:
    """`morello explain` names windows and outputs."""
    from morello.tools.morello import main

    for spec in SPECS[:5]:
        assert main(["explain", spec, "--target", "shown"]) == 0


def header() -> None:
    """The header for C has a parameter for each output."""
    library = morello.compile("extent:6x9:s32", target="shown").library("k")
    assert "return k(src, low, high);" in library.header


def tools() -> None:
    """``morello run`` writes every output, by name."""
    from morello.tools.morello import main

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/out.npz"
        arguments = ["run", SPECS[0], "--target", "shown", "--output", path]
        assert main(arguments) == 0
        assert sorted(np.load(path)) == ["high", "low"]


CHECKS = (text, kernels, wrong, optimum, dialect, explained, header, tools)

if __name__ == "__main__":
    register()
    next(check for check in CHECKS if check.__name__ == sys.argv[1])()
