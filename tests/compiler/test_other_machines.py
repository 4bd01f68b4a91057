"""Kernels for a machine that this one is not: saved, read, pickled, not called."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.errors import TargetError
from morello.runtime import engine
from morello.tools.morello import main

SPEC = "matmul:3x5x7:f32"


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has none of a target's features."""
    monkeypatch.setattr(engine, "missing_features", lambda *target: ("avx2",))


def kernel(load: bool) -> Kernel:
    return morello.compile(SPEC, target="avx2", threads=1, load=load)


@pytest.mark.usefixtures("lacking")
def test_the_files_are_those_of_a_machine_that_runs_it(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"lacks avx2; compile for .* load=False"):
        kernel(load=True)
    other = kernel(load=False)
    assert SPEC in repr(other)
    other.save(tmp_path / "k.o")
    name, text = str(tmp_path / "c.o"), str(tmp_path / "asm")
    assert main(["save", SPEC, "--target", "avx2", "-o", name, "--db", "none"]) == 0
    assert Path(name).read_bytes() == (tmp_path / "k.o").read_bytes()
    command = ["emit", SPEC, "--target", "avx2", "--stage", "asm", "--db", "none"]
    assert main([*command, "-o", text]) == 0
    assert Path(text).read_text() == other.asm


@pytest.mark.usefixtures("lacking")
def test_calls_are_refused_there() -> None:
    other = kernel(load=False)
    a, b, c = (np.zeros(p.shape, p.dtype) for p in other.parameters)
    for use in (
        lambda: other(a, b),
        lambda: other.bind(a, b, c),
        lambda: other.address,
        lambda: pickle.loads(pickle.dumps(other)),
    ):
        with pytest.raises(TargetError, match="this machine cannot run code for"):
            use()
    assert not c.any()


def test_the_first_call_loads_it_where_it_can_run() -> None:
    one, whole = kernel(load=False), kernel(load=True)
    assert one.object == whole.object
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-4, 5, p.shape).astype("f4") for p in one.parameters)
    np.testing.assert_array_equal(one(a, b), a @ b)
    one.bind(a, b, c)()
    np.testing.assert_array_equal(c, a @ b)


def test_a_model_is_compiled_for_another_machine(lacking: None) -> None:
    model = morello.trace(lambda x: np.tanh(x), (4, 8))
    other = model.compile(target="avx2", threads=1, load=False)
    assert other.object
    with pytest.raises(TargetError, match="this machine cannot run"):
        other(np.zeros((4, 8), "f4"))
