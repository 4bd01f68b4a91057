"""x86-64 with AVX2 and FMA: 16 registers of 32 bytes."""

from morello.machine import isa
from morello.machine.shipped import shipped
from morello.machine.target import Target

_KERNELS = (
    "gemm_registers", "gemm_tile", "gemm_rows", "gemm_strips", "gemm_far_panels",
    "gemm_windows", "gemv_axpy", "gemv_axpy_4", "gemv_axpy_bf16", "gemv_axpy_f16",
    "gemv_axpy_f16_panels", "gemv_dot", "gemv_dot_bytes", "gemv_axpy_bytes",
    "gemm_dot_bf16", "int_dot2", "int_dot2_s8", "int_dot2_u8", "int_dot2_float",
    "int_dot4", "int_dot2_saturating", "copy_rows", "transpose", "interleave2",
    "interleave4", "transpose_pairs", "deinterleave", "load", "store", "fill_rows",
    "fill_registers", "map_rows", "graph_rows", "scaled_rows", "scaled_pairs",
    "scaled_bytes", "graph_scalar", "reduce_rows", "reduce_columns", "scalar",
)  # fmt: skip

AVX2 = Target(
    name="avx2",
    cpu="haswell",
    features=("avx2", "fma"),
    isa=isa.AVX2,
    l1_lines=512,
    l1_ways=8,
    l2_lines=16384,
    **shipped("avx2"),
    kernels=_KERNELS,
    some_ports_multiply=True,
)
