"""Programs of any size, as text."""

import numpy as np


def layers(count: int) -> str:
    """Products and maps in turns, as StableHLO."""
    x, w = "tensor<8x16xf32>", "tensor<16x16xf32>"
    lines = [f"func.func @main(%y0: {x}, %w: {w}) -> {x} {{"]
    for i in range(count):
        lines += [
            f"%d{i} = stablehlo.dot_general %y{i}, %w, contracting_dims = [1] x [0] "
            f": ({x}, {w}) -> {x}",
            f"%y{i + 1} = stablehlo.tanh %d{i} : {x}",
        ]
    return "\n".join([*lines, f"return %y{count} : {x} }}"])


def constant(size: int) -> str:
    """A product by a constant of so many columns, whose elements are in the text."""
    x, w = "tensor<4x64xf32>", f"tensor<64x{size}xf32>"
    result = f"tensor<4x{size}xf32>"
    data = np.random.default_rng(1).standard_normal((64, size), np.float32).tobytes()
    return (
        f"func.func @main(%x: {x}) -> {result} {{\n"
        f'%w = stablehlo.constant dense<"0x{data.hex().upper()}"> : {w}\n'
        "%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] "
        f": ({x}, {w}) -> {result}\n"
        f"return %y : {result} }}"
    )


def instructions(count: int) -> str:
    """A function of LLVM's of so many products, each of the one before."""
    lines = ["define float @f(float %x0, ptr %at) {"]
    for i in range(count):
        lines += [
            f"%a{i} = getelementptr float, ptr %at, i64 {7 * i}",
            f"%l{i} = load float, ptr %a{i}",
            f"%x{i + 1} = fmul float %x{i}, %l{i}",
        ]
    return "\n".join([*lines, f"ret float %x{count}", "}", ""])
