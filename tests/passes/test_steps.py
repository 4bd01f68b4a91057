"""Pipelines pass by pass: what they are taken apart to, and who is told of each run."""

import dataclasses
from collections.abc import Iterator

import pytest

from morello.mlir import ir
from morello.passes.pipelines.steps import NEST_NAME, Step, pretty, resolve, run
from tests.passes.test_pipeline import MODULE, parse

pytestmark = pytest.mark.quick

TEXT = (
    "builtin.module(cse,test-mark{count=2},"
    "func.func(cse,canonicalize{max-iterations=3}),any(cse),test-both)"
)


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with ir.Context():
        yield ir.Module.parse(MODULE)


def test_a_pipeline_is_printed_with_every_option() -> None:
    with ir.Context():
        steps = resolve(parse(TEXT))
        text = pretty(steps, "builtin.module")
    assert text.splitlines()[:5] == [
        "Pass Manager with 6 passes:",
        "builtin.module(",
        "  cse,",
        "  test-mark{tag=x count=2 fast-math=false},",
        "  func.func(",
    ]
    assert text.splitlines()[-8:] == [
        "  any(",
        "    cse",
        "  ),",
        "  func.func(",
        "    cse",
        "  ),",
        "  test-mark{tag=y count=1 fast-math=false}",
        ")",
    ]
    (canonicalize,) = (line for line in text.splitlines() if "canonicalize{" in line)
    assert "max-iterations=3" in canonicalize
    assert "top-down=" in canonicalize


@dataclasses.dataclass
class Told:
    """A watcher that keeps what it is told."""

    heard: list[str] = dataclasses.field(default_factory=list)

    def before(self, name: str, step: Step | None, op: ir.Operation) -> None:
        self.heard.append(f"{op.name}: {name if step is None else step.argument}")

    def after(
        self, name: str, step: Step | None, op: ir.Operation, failed: bool
    ) -> None:
        self.heard.append("failed" if failed else "ran")


def ran(module: ir.Module, text: str, verify: bool) -> tuple[bool, list[str]]:
    """Whether a pipeline runs to its end, and what its watcher is told."""
    told = Told()
    done = run(
        resolve(parse(text)),
        module.operation,
        [told],
        verify=verify,
        announce=lambda text: None,
    )
    return done, told.heard


def test_each_run_of_each_pass_is_told(module: ir.Module) -> None:
    nest = f"builtin.module: {NEST_NAME}"
    assert ran(module, "builtin.module(cse,func.func(cse),test-mark)", True) == (
        True,
        [
            *("builtin.module: cse", "ran"),
            *(nest, "func.func: cse", "ran", "ran"),
            *("builtin.module: test-mark", "ran"),
        ],
    )
    assert 'mark = "x"' in str(module)


@pytest.mark.parametrize("verify", [True, False])
def test_what_a_pass_breaks_ends_the_run_if_that_is_checked(
    module: ir.Module, verify: bool
) -> None:
    done, heard = ran(module, "builtin.module(test-break,test-mark)", verify)
    assert done is not verify
    later = [] if verify else ["builtin.module: test-mark", "ran"]
    first = ["builtin.module: test-break", "failed" if verify else "ran"]
    assert heard == first + later


def test_nothing_runs_after_a_pass_that_fails(module: ir.Module) -> None:
    text = "builtin.module(test-mark{tag=bad},cse)"
    assert ran(module, text, False) == (False, ["builtin.module: test-mark", "failed"])
    done, heard = ran(module, "builtin.module(func.func(symbol-dce),cse)", False)
    assert not done
    assert heard[-1] == "failed"
    assert "builtin.module: cse" not in heard
