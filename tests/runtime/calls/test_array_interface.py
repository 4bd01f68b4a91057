"""Arrays that have ``__array_interface__`` alone are read by machine code at a call."""

import sys
from typing import Any

import numpy as np
import pytest

from morello.errors import ArgumentError
from morello.runtime.calls import function as module
from tests.quality.compiled import unsearched

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, np.dtype[Any]]

SPEC = "matmul:8x9x10:f32"


class Told:
    """An array of a library; what it says may be changed."""

    def __init__(self, array: Array, **changes: Any) -> None:
        self.array, self.reads = array, 0
        self.told = {**array.__array_interface__, **changes}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        self.reads += 1
        return self.told


class Holder:
    """It is an attribute of an object alone."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def operands() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 4, (8, 9)), rng.integers(-4, 4, (9, 10))
    return a.astype(np.float32), b.astype(np.float32), np.zeros((8, 10), np.float32)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel that knows the types, and whose slow ways fail from now on."""
    kernel = unsearched(SPEC, 0)
    for kind in (Told, Holder):
        kernel(*map(kind, operands()))

    def fail(*args: Any) -> Any:
        raise AssertionError("the slow way")

    monkeypatch.setattr(module, "quickly_shared", fail)
    monkeypatch.setattr(module, "shared", fail)
    return kernel


@pytest.mark.parametrize("kind", [Told, Holder])
def test_no_array_is_made(kind: Any, quick: Any) -> None:
    a, b, c = operands()
    x, y, z = kind(a), kind(b), kind(c)
    assert np.array_equal(quick(x, y), a @ b)
    assert quick(x, y, out=z) is z
    assert np.array_equal(c, a @ b)
    c[:] = 0
    assert quick(x, b, z) is z
    assert np.array_equal(c, a @ b)
    if kind is Told:
        assert [x.reads, y.reads, z.reads] == [4, 3, 2]


def test_strides_may_be_said_or_left_out(quick: Any) -> None:
    a, b, c = operands()
    wide = np.zeros((1, 8, 9), np.float32)
    wide[0] = a
    for lhs in (Told(a, strides=(36, 4)), Told(wide, strides=(-4, 36, 4))):
        assert np.array_equal(quick(lhs, b).reshape(8, 10), a @ b)
    told = Told(a)
    del told.told["strides"]
    assert quick(told, b, c) is c
    assert np.array_equal(c, a @ b)


def test_other_elements_by_other_letters() -> None:
    kernel = unsearched("matmul:8x9x10:u8,s8,s32", 0)
    a, b, _ = operands()
    lhs, rhs = np.abs(a).astype(np.uint8), b.astype(np.int8)
    wanted = lhs.astype(np.int32) @ rhs.astype(np.int32)
    for _ in range(2):
        assert np.array_equal(kernel(Told(lhs), Told(rhs)), wanted)


def test_nothing_is_kept(quick: Any) -> None:
    a, b, c = operands()
    told = Told(a)
    before = sys.getrefcount(told.told), sys.getrefcount(told)
    for _ in range(100):
        quick(told, b, c)
    assert (sys.getrefcount(told.told), sys.getrefcount(told)) == before


@pytest.mark.parametrize(
    "change",
    [
        {"typestr": "<f8"},
        {"typestr": ">f4"},
        {"typestr": 4},
        {"shape": (9, 8)},
        {"shape": (8, "9")},
        {"shape": (8, 2**70)},
        {"shape": [8, 9]},
        {"shape": (1, 1, 1, 8, 9)},
        {"strides": (40, 4)},
        {"strides": (36,)},
        {"strides": "no"},
        {"data": None},
        {"data": (0, False)},
        {"data": ("x", False)},
        {"data": b"0" * 288},
        {"mask": np.zeros((8, 9), bool)},
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    kernel = unsearched(SPEC, 0)
    a, b, _ = operands()
    kernel(Told(a), b)  # its type is known from now on
    with pytest.raises(ArgumentError, match="'lhs'"):
        kernel(Told(a, **change), b)
    assert np.array_equal(kernel(Told(a), b), a @ b)


def test_an_output_that_must_not_be_written_is_refused(quick: Any) -> None:
    a, b, c = operands()
    address = c.ctypes.data
    with pytest.raises(AssertionError, match="the slow way"):
        quick(a, b, Told(c, data=(address, True)))
    assert not c.any()
    assert np.array_equal(quick(Told(a, data=(a.ctypes.data, True)), b), a @ b)


def test_a_mistake_of_the_library_is_no_crash() -> None:
    kernel = unsearched(SPEC, 0)
    a, b, _ = operands()

    class Broken(Told):
        @property
        def __array_interface__(self) -> Any:
            if self.reads:
                raise RuntimeError("not today")
            return self.told

    broken = Broken(a)
    kernel(broken, b)
    broken.reads = 1
    with pytest.raises((ArgumentError, RuntimeError)):
        kernel(broken, b)
    for other in (None, 3, {"data": 1}):
        told = Told(a)
        told.told = other  # type: ignore[assignment]
        with pytest.raises((ArgumentError, TypeError, ValueError, KeyError)):
            kernel(told, b)
