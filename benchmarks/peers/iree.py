"""IREE, compiled for Haswell, called through its Python runtime."""

import importlib
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.harness.backend import (
    About,
    Backend,
    MissingError,
    Ready,
    UnsupportedError,
)
from benchmarks.harness.case import Array, Case, Data

_TYPES = {"u8": "i8", "s8": "i8", "s16": "i16", "s32": "i32", "bf16": "i16"}
"""Types of arguments as declared; NumPy has no bf16, so its bits are passed."""
_FLAGS = (
    "--iree-llvmcpu-target-cpu=haswell",
    "--iree-llvmcpu-target-triple=x86_64-unknown-linux-gnu",
    "--iree-opt-level=O3",
)


class IreeReady(Ready):
    """A call of a compiled function."""

    in_python = True

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._out: Any = None

    def run(self, calls: int) -> None:
        """Compute the product ``calls`` times."""
        call = self._call
        for _ in repeat(None, calls):
            self._out = call()

    def output(self) -> Array:
        """The output."""
        return np.asarray(self._out.to_host())


class Iree(Backend):
    """Products of every dtype, operands as they are."""

    name = "iree"

    def open(self) -> About:
        """Import the compiler and the runtime."""
        try:
            version = importlib.import_module("iree.compiler.version")
            importlib.import_module("iree.runtime")
        except ImportError as error:
            raise MissingError(str(error)) from error
        return About(f"IREE {version.VERSION}", "compiled for haswell", True)

    def ready(self, case: Case, data: Data) -> IreeReady:
        """Compile a product.

        Raises:
            UnsupportedError: prepacked or saturating products, or what IREE refuses.
        """
        if case.rhs == "open" or case.sums != "wrapping":
            raise UnsupportedError("no prepacked and no saturating products")
        compiler: Any = importlib.import_module("iree.compiler")
        rt: Any = importlib.import_module("iree.runtime")
        try:
            binary = compiler.compile_str(
                module_text(case), target_backends=["llvm-cpu"], extra_args=list(_FLAGS)
            )
        except compiler.CompilerToolError as error:
            raise UnsupportedError(str(error).split("\n")[0]) from error
        driver = "local-sync" if self.threads == 1 else "local-task"
        config = rt.Config(driver)
        module = rt.VmModule.copy_buffer(config.vm_instance, binary)
        loaded = rt.load_vm_module(module, config)
        arrays = [
            rt.asdevicearray(config.device, a.view(f"i{a.itemsize}") if integer else a)
            for a, integer in (
                (data.lhs, case.dtypes[0] in _TYPES),
                (data.rhs, case.dtypes[1] in _TYPES),
            )
        ]
        product = loaded.product
        return IreeReady(lambda: product(*arrays))


def module_text(case: Case) -> str:
    """The product as MLIR of linalg."""
    b, m, k, n = case.sizes
    left, right, out = (_TYPES.get(d, d) for d in case.dtypes)
    zero = "0.0" if out == "f32" else "0"
    maps = "affine_map<(b, m, n, k) -> "
    rhs = "(b, n, k)" if case.rhs == "column" else "(b, k, n)"
    shape = f"{b}x{n}x{k}" if case.rhs == "column" else f"{b}x{k}x{n}"
    return f"""
func.func @product(%lhs: tensor<{b}x{m}x{k}x{left}>, %rhs: tensor<{shape}x{right}>)
    -> tensor<{b}x{m}x{n}x{out}> {{
  %zero = arith.constant {zero} : {out}
  %empty = tensor.empty() : tensor<{b}x{m}x{n}x{out}>
  %init = linalg.fill ins(%zero : {out}) outs(%empty : tensor<{b}x{m}x{n}x{out}>)
      -> tensor<{b}x{m}x{n}x{out}>
  %out = linalg.generic {{
      indexing_maps = [{maps}(b, m, k)>, {maps}{rhs}>, {maps}(b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%lhs, %rhs : tensor<{b}x{m}x{k}x{left}>, tensor<{shape}x{right}>)
      outs(%init : tensor<{b}x{m}x{n}x{out}>) {{
    ^bb0(%x: {left}, %y: {right}, %sum: {out}):
{_body(case.dtypes)}
      linalg.yield %next : {out}
  }} -> tensor<{b}x{m}x{n}x{out}>
  return %out : tensor<{b}x{m}x{n}x{out}>
}}
"""


def _body(dtypes: tuple[str, str, str]) -> str:
    """One multiplication and addition, operands widened first."""
    lines, names = [], []
    out = _TYPES.get(dtypes[2], dtypes[2])
    for name, dtype in zip("xy", dtypes[:2], strict=True):
        if dtype == dtypes[2]:
            names.append(f"%{name}")
            continue
        source, value = _TYPES.get(dtype, dtype), f"%{name}"
        if dtype == "bf16":
            value = f"%f{name}"
            lines.append(f"      {value} = arith.bitcast %{name} : i16 to bf16")
            source = "bf16"
        word = "extf" if dtype == "bf16" else "extui" if dtype[0] == "u" else "extsi"
        lines.append(f"      %w{name} = arith.{word} {value} : {source} to {out}")
        names.append(f"%w{name}")
    kind = "f" if out == "f32" else "i"
    lines.append(f"      %prod = arith.mul{kind} {', '.join(names)} : {out}")
    lines.append(f"      %next = arith.add{kind} %sum, %prod : {out}")
    return "\n".join(lines)
