"""The Specs whose programs are measured: of every kind, from every memory.

Operands in L1 and L2 fit there and are warm. Those in MEM are what users have: large,
small, odd and skinny ones, bound by arithmetic and by memory; products of bytes, bf16
and f16, which instructions of their own compute where a target has them; and graphs of
several nodes, whose kernels loads, functions and lines of several operands share.
"""

from morello.machine import Target
from morello.spec import Spec, parse_spec

_L1_MATMUL = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
_L2_MATMUL = "lhs=[0,1,2]@L2:rhs=[0,1,2]@L2:out=[0,1,2]@L2"

IN_L1 = (
    f"matmul_accum:6x192x16:f32:{_L1_MATMUL}",
    f"matmul_accum:7x19x21:f32:{_L1_MATMUL}",
    f"matmul_accum:24x32x24:s32:{_L1_MATMUL}",
    f"matmul:1x256x16:f32:{_L1_MATMUL}",
    "move:8x64:f32:src=[0,1]@L1:dst=[0,1]@L1",
    "move:32x24:f32:src=[0,1]@L1:dst=[1,0]@L1",
    "move:6x192:f32:src=[0,1]@L1:dst=[0,1,0p6]@L1",
    "max:16x100:f32:x0=[0,1]@L1:v0=[0]@L1",
    "max:32x48:f32:x0=[1,0]@L1:v0=[0]@L1",
)
IN_L2 = (
    f"matmul:192x160x128:f32:{_L2_MATMUL}",
    "move:200x300:f32:src=[0,1]@L2:dst=[1,0]@L2",
    "move:256x256:f32:src=[0,1]@L2:dst=[0,1]@L2",
    "max:300x300:f32:x0=[0,1]@L2:v0=[0]@L2",
)
IN_MEM = (
    "matmul:2048x2048x2048:f32", "matmul:1024x1024x1024:f32",
    "matmul:2048x2048x256:f32", "matmul:256x1024x4096:f32", "matmul:384x4096x1024:f32",
    "matmul:160x5504x1024:f32", "matmul:1001x101x501:f32", "matmul:512x512x512:f32",
    "matmul:256x256x256:f32", "matmul:128x128x128:f32", "matmul:64x64x64:f32",
    "matmul:200x300x400:f32", "matmul:100x37x53:f32",
    "matmul:256x256x256:f32:rhs=[0,2,1]", "matmul:192x192x192:s32",
    "matmul:128x128x128:bf16,bf16,f32", "matmul:1x4096x4096:f32",
    "matmul:4x4096x4096:f32", "matmul:4096x4096x1:f32", "matmul:1x2048x1024:f32",
    "matmul:1x1000x1000:f32", "matmul:16x2048x16:f32", "matmul:16x1024x16:f32",
    "matmul:1000x3x1000:f32", "matmul:2048x16x2048:f32", "matmul:2048x64x2048:f32",
    "matmul:24x384x2048:f32", "matmul:16x1024x4096:f32", "matmul:100x512x3072:f32",
    "matmul:80x640x1024:f32", "matmul:40x1536x1536:f32", "matmul:127x1536x512:f32",
    "matmul:48x1024x512:f32", "matmul:64x1000x1000:f32", "move:1024x1024:f32",
    "move:2048x2048:f32", "move:1000x1000:f32:dst=[1,0]",
    "move:1000x1024:f32:dst=[1,0]", "move:1024x1024:f32:dst=[1,0]",
    "move:2048x2048:f32:dst=[1,0]", "max:4000x4000:f32", "max:1200x1000:f32",
    "max:1200x1000:f32:x0=[1,0]",
)  # fmt: skip
NARROW = (
    "matmul:64x96x128:u8,s8,s32", "matmul:256x512x512:u8,s8,s32",
    "matmul:100x300x700:s8,s8,s32", "matmul:1x2048x4096:u8,s8,s32",
    "matmul:256x512x512:bf16,bf16,f32:flushing=true",
    "matmul:64x2048x1024:bf16,bf16,f32:flushing=true",
    "matmul:100x320x700:bf16,bf16,f32:flushing=true",
    "matmul:96x512x256:bf16,bf16,f32:flushing=true"
    ":lhs=[0,1,2]@L2:rhs=[0,2,1,2p32,1p2]@L2:out=[0,1,2]@L2",
    "matmul:8x2048x4096:f32,f16,f32", "matmul:16x2048x2048:f32,bf16,f32",
)  # fmt: skip
GRAPHS = (
    "exp:64x1000:f32", "add:256x1024:f32", "sum:500x700:f32:x0=[1,0]",
    "softmax:32x512:f32", "softmax:300x49:f32", "softmax:4x20000:f32",
    "layer_norm:100x640:f32", "rms_norm:64x2048:f32", "gelu_matmul:64x512x768:f32",
    "residual_matmul:100x256x320:f32", "chain:96x64x96x64:f32",
    "attention:4x100x100x64x64:f32", "conv:1x32x28x28x64x3x3:f32:pad=1",
    "conv:1x32x28x28x64x3x3:f32:pad=1:layout=nhwc",
    "conv:1x48x28x28x48x3x3:f32:pad=1:groups=48",
)  # fmt: skip
ALL = (*IN_L1, *IN_L2, *IN_MEM, *NARROW, *GRAPHS)

QUICK = (
    f"matmul_accum:6x40x16:f32:{_L1_MATMUL}",
    "move:16x24:f32:src=[0,1]@L1:dst=[1,0]@L1",
    "max:16x100:f32:x0=[0,1]@L1:v0=[0]@L1",
    "fill:1000:f32:out=[0]@L1",
)
"""A few that take seconds: for a look at what the command does."""


CHECKED = (
    "matmul:128x128x128:f32",
    "matmul:24x384x512:f32",
    "matmul:1x1000x1000:f32",
    "move:500x500:f32:dst=[1,0]",
    "softmax:32x512:f32",
    "matmul:256x256x256:f32",
    "max:500x700:f32",
    "matmul:4096x1024x1:f32",
    "add:256x1024:f32",
    "move:512x512:f32",
    "matmul:96x96x96:u8,s8,s32",
    "matmul:64x64x64:bf16,bf16,f32",
    "matmul:4x1024x1024:f32",
    "layer_norm:100x640:f32",
    "max:500x700:f32:x0=[1,0]",
    "matmul:1x1024x512:bf16,bf16,f32",
    "matmul:1000x3x1000:f32",
    "matmul:100x37x53:f32",
    f"matmul:192x160x128:f32:{_L2_MATMUL}",
    f"matmul_accum:24x32x24:s32:{_L1_MATMUL}",
)
"""Specs that a search takes a second for, of the kernels that most programs are of: a
look at whether prices hold, a minute for all of them. The first ones tell most."""


def specs(texts: tuple[str, ...], target: Target) -> tuple[Spec, ...]:
    """The Specs, within what a target has."""
    return tuple(parse_spec(text, target.limits) for text in texts)
