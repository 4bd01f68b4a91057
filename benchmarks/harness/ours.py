"""Morello as a contender: that of this checkout, or of another commit's.

Nothing of Morello may be imported before `Ours.open`, which decides where from.
"""

import dataclasses
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness.backend import About, Backend, MissingError, UnsupportedError
from benchmarks.harness.case import Array, Case, Data, aligned, aligned_copy
from benchmarks.harness.loops import Argument, Pointer
from benchmarks.harness.native import NativeReady, Operands
from benchmarks.harness.process import Command


class Ours(Backend):
    """Kernels as ``morello.compile`` makes them.

    Args:
        root: the checkout to import Morello from.
        db: the database of what was searched before; ``none`` for none.
        native: "yes" for the target of this machine, whatever vectors that has; else
            its target without what is beyond AVX2.
        tune: seconds of tuning, or "no" for the model's choice; empty for what an
            untold `compile` takes.
    """

    name = "morello"
    open_forms = ("open",)

    def __init__(
        self,
        threads: int,
        root: str = "",
        db: str = "none",
        native: str = "",
        tune: str = "",
    ) -> None:
        super().__init__(threads)
        self._native = native == "yes"
        self._root = root
        self._db = db
        self._tuning = {"tune": tuning(tune)} if tune else {}
        self._morello: Any = None
        self._target = ""

    def open(self) -> About:
        """Import Morello from its checkout.

        Raises:
            MissingError: it came from elsewhere, or cannot be imported.
        """
        sys.path.insert(0, self._root)
        try:
            morello = importlib.import_module("morello")
        except ImportError as error:
            raise MissingError(f"Morello cannot be imported: {error}") from error
        file = Path(morello.__file__ or "").resolve()
        if Path(self._root).resolve() not in file.parents:
            raise MissingError(f"Morello was imported from {file}, not {self._root}")
        self._morello = morello
        name, wide = _native_target() if self._native else avx2_target()
        self._target = name
        said = f"target {name}" if wide else f"target {name}, no zmm"
        return About(f"Morello {morello.__version__}", said, not wide)

    def kernel(self, spec: str) -> Any:
        """Compile a Spec.

        Raises:
            UnsupportedError: Morello refuses the Spec, and why.
        """
        errors = importlib.import_module("morello.errors")
        try:
            return self._morello.compile(
                spec,
                threads=self.threads,
                db=self._db,
                target=self._target,
                **self._tuning,
            )
        except errors.MorelloError as error:
            raise UnsupportedError(str(error).split("\n")[0]) from error

    def ready(self, case: Case, data: Data) -> NativeReady:
        """Compile a kernel.

        Raises:
            UnsupportedError: Morello refuses the Spec, and why.
        """
        start = time.perf_counter()
        kernel = self.kernel(case.spec)
        spent = time.perf_counter() - start
        if "%zmm" in kernel.asm and not self._native:
            raise UnsupportedError("its code has vectors of 512 bits, beyond AVX2")
        operands = Operands(case, data)
        if case.rhs == "open":
            operands.rhs = _packed(kernel, operands.rhs, case)
        pointers = [Pointer(p.address) for p in operands.pointers()]
        note = f"search {kernel.times.search:.1f} s of {spent:.1f} s"
        return _native(kernel, operands, pointers, note)


def tuning(text: str) -> float | bool:
    """Convert text to the argument ``tune`` of `compile`: ``no``, or seconds."""
    return False if text == "no" else float(text)


def _native_target() -> tuple[str, bool]:
    """The target that is compiled for, and whether its vectors are wider than AVX2's.

    The oldest commits have only one.
    """
    for module in ("morello.compiler.target_choice", "morello.target_choice"):
        try:
            choice = importlib.import_module(module)
        except ImportError:
            continue
        target = choice.chosen_target(None)
        return str(target.name), "avx512" in str(target.features)
    return "avx2", False


def avx2_target() -> tuple[str, bool]:
    """The target of this machine, or of one like it that has nothing beyond AVX2."""
    name, _ = _native_target()
    try:
        native = importlib.import_module("morello.machine.native")
        here = importlib.import_module("morello.machine.host").host()
    except ImportError:
        return name, False
    if "MORELLO_TARGET" in os.environ:
        return name, False
    features = {f for f in here.features if not f.startswith(("avx512", "avxvnni"))}
    less = dataclasses.replace(here, features=frozenset(features))
    return str(native.native_target(less).name), False


def _packed(kernel: Any, rhs: Array, case: Case) -> Array:
    """The right operand in the layout that the kernel has chosen."""
    bits = rhs
    if case.dtypes[1] == "bf16":
        rhs = rhs.view(importlib.import_module("ml_dtypes").bfloat16)
    packed = kernel.pack(rhs).view(bits.dtype)
    return aligned_copy(packed, case.dtypes[1])


def _native(
    kernel: Any, operands: Operands, pointers: list[Pointer], note: str
) -> NativeReady:
    """The function of a kernel, with a workspace of its own."""
    arguments: list[Argument] = list(pointers)
    workspace = None
    if kernel.workspace_bytes:
        workspace = aligned((kernel.workspace_bytes,), "u8")
        arguments.append(Pointer(int(workspace.ctypes.data)))
    # No public name gives the address, and older commits will not get one.
    inner = kernel._function
    engine = inner.engine if hasattr(inner, "engine") else inner._engine
    function = engine.address(inner.name)
    owners = (kernel, workspace)
    return NativeReady(operands, function, arguments, 1, note, owners)


def command(
    threads: int, root: Path, db: str, native: bool = False, tune: str = ""
) -> Command:
    """How Morello of a checkout is started, in this interpreter."""
    options = (("root", str(root)), ("db", db), ("native", "yes" if native else ""))
    options = (*options, *((("tune", tune),) if tune else ()))
    return Command("benchmarks.harness.ours:Ours", threads, options)
