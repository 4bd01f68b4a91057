"""Kernels travel between processes, and say how they are called."""

import copy
import ctypes
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.compiler import pickling
from morello.errors import CompileError, FileError, TargetError
from morello.runtime import engine
from tests.compiler.test_parallel import CHEAP_FORK
from tests.quality.compiled import arguments, same_bytes

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

SPECS = (
    "move:7x9:f32:dst=[1,0]",
    "matmul:2x5x3x7:s32",
    "matmul_accum:3x4x8:s32",
    "matmul:1x8x16:f32:rhs=any",
)


@pytest.mark.parametrize("text", SPECS)
def test_a_pickled_kernel_is_the_same(text: str) -> None:
    kernel = morello.compile(text)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.address != kernel.address
    for field in ("text", "schedule", "mlir", "llvm", "object", "impl", "times"):
        assert getattr(again, field) == getattr(kernel, field)
    assert (again.cost(), again.threads) == (kernel.cost(), kernel.threads)
    arrays, expected = arguments(again, 0)
    again(*arrays)
    assert same_bytes(arrays, expected)
    if text.endswith("any"):
        weights = np.ones((8, 16), np.float32)
        assert np.array_equal(again.pack(weights), kernel.pack(weights))


LOAD = """
import pickle, sys
import numpy as np
kernel = pickle.load(sys.stdin.buffer)
made = kernel()
assert (made == 0).all() and kernel.threads == 2
assert not {"morello.search", "morello.actions", "morello.mlir"} & {*sys.modules}
assert kernel.spec.sizes == (64, 64) and "morello.search" in sys.modules
print(made.size)
"""


def test_a_kernel_with_threads_goes_to_a_new_process() -> None:
    kernel = morello.compile("fill:64x64", target=CHEAP_FORK, threads=2)
    assert kernel.threads == 2
    run = subprocess.run(
        [sys.executable, "-c", LOAD],
        input=pickle.dumps(kernel),
        capture_output=True,
        check=False,
    )
    assert run.stdout == b"4096\n", run.stderr.decode()


def test_copies_are_the_kernel_itself() -> None:
    kernel = morello.compile("fill:5x5:s32")
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy({"layer": [kernel]})["layer"] == [kernel]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_changed_byte_is_refused(share: float) -> None:
    data = bytearray(pickle.dumps(morello.compile("fill:5x5:s32")))
    data[int(share * len(data))] ^= 1
    with pytest.raises(CompileError, match=r"damaged: it does not have its checksum"):
        pickle.loads(data)


def _with_weights() -> morello.Kernel:
    """A kernel with a constant of 67,600 bytes."""
    weights = np.arange(16900, dtype=np.float32).reshape(130, 130)
    return morello.compile(morello.trace(lambda x: x + weights, weights))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_weights_of_a_pickled_kernel_begin_on_a_cache_line(protocol: int) -> None:
    kernel = _with_weights()
    (weights,) = pickle.loads(pickle.dumps(kernel, protocol)).held.constants.values()
    assert weights.ctypes.data % 64 == 0
    assert same_bytes([weights], [*kernel.held.constants.values()])


def test_weights_can_be_buffers_of_the_caller() -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(kernel := _with_weights(), 5, buffer_callback=buffers.append)
    assert len(data) < sum(buffer.raw().nbytes for buffer in buffers)
    x = np.ones((130, 130), np.float32)
    assert np.array_equal(pickle.loads(data, buffers=buffers)(x), kernel(x))


@pytest.mark.parametrize("protocol", [4, 5])
def test_a_changed_weight_is_refused(protocol: int) -> None:
    data = bytearray(pickle.dumps(_with_weights(), protocol))
    data[-40000] ^= 1
    with pytest.raises(CompileError, match=r"damaged: it does not have its checksum"):
        pickle.loads(data)


def test_a_saved_kernel_has_its_arrays_in_the_file(tmp_path: Path) -> None:
    kernel = _with_weights()
    kernel.save(path := tmp_path / "net.kernel")
    again = morello.load(path)
    (weights,) = again.held.constants.values()
    assert weights.ctypes.data % 64 == 0
    assert not weights.flags.writeable
    kernel.save(path)  # another file of that name: what is mapped stays
    x = np.ones((130, 130), np.float32)
    assert np.array_equal(again(x), kernel(x))
    again.save(other := tmp_path / "again.kernel")
    assert np.array_equal(morello.load(other)(x), kernel(x))


@pytest.mark.parametrize("place", [5, 17, 25, 33, 42, 60, -67700, -40000, -1])
def test_a_damaged_file_of_a_kernel_is_refused(tmp_path: Path, place: int) -> None:
    _with_weights().save(path := tmp_path / "net.kernel")
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(CompileError, match=r"is no file of a kernel|its checksum"):
        morello.load(path)
    data[place] ^= 1
    path.write_bytes(data[:place])
    with pytest.raises(CompileError, match=r"is no file of a kernel|its checksum"):
        morello.load(path)


def test_files_that_cannot_be_mapped_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("absent", "empty", ".", "a\0b"):
        with pytest.raises(FileError, match="cannot load"):
            morello.load(tmp_path / name)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pickling, "__version__", "0.0.1")
        data = pickle.dumps(morello.compile("fill:5x5:s32"))
    with pytest.raises(CompileError, match=r"of Morello 0\.0\.1, and this is"):
        pickle.loads(data)


def test_another_cpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(morello.compile("fill:5x5:s32"))
    monkeypatch.setattr(engine, "missing_features", lambda cpu, features: ("avx2",))
    with pytest.raises(TargetError, match="lacks avx2"):
        pickle.loads(data)


def test_the_address_is_that_of_the_symbol() -> None:
    kernel = morello.compile("move:7x9:f32")
    assert f"@{kernel.symbol}(" in kernel.llvm
    assert f"\n{kernel.symbol}:" in kernel.asm
    assert kernel.workspace_bytes == 0
    source = np.arange(63, dtype=np.float32).reshape(7, 9)
    out = np.zeros_like(source)
    native = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    native(source.ctypes.data, out.ctypes.data)
    assert np.array_equal(out, source)


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("matmul:2x5x3x7:s32", "(lhs, rhs, out=None)"),
        ("matmul_accum:3x4x8:s32", "(lhs, rhs, out)"),
        ("move:7x9:f32", "(src, dst=None, *, out=None)"),
    ],
)
def test_the_signature_is_that_of_a_call(text: str, signature: str) -> None:
    kernel = morello.compile(text)
    assert str(inspect.signature(kernel)) == signature
    arrays, expected = arguments(kernel, 0)
    names = [parameter.name for parameter in kernel.parameters]
    kernel(**dict(zip(names, arrays, strict=True)))
    assert same_bytes(arrays, expected)


def test_an_output_of_none_is_made() -> None:
    kernel = morello.compile("move:7x9:f32")
    source = np.ones((7, 9), np.float32)
    for result in (kernel(source), kernel(source, dst=None), kernel(source, out=None)):
        assert np.array_equal(result, source)
