"""x86-64 with AVX-512 F, BW, DQ and VL: 32 registers of 64 bytes, and masks.

L1 has 48 KiB, 12 ways. L2 is counted as 1 MiB, which the smallest of these CPUs have.
Intel's cores compute in 64 bytes on two ports, multiply-adds and all else.
Kernels whose shuffles are those of 32 bytes stay so; all others have one width.
"""

from morello.machine import isa
from morello.machine.shipped import shipped
from morello.machine.target import Target

_KERNELS = (
    "gemm_registers_512", "gemm_tile_512", "gemm_rows_512", "gemm_panels_512",
    "gemm_strips_512", "gemm_far_panels_512", "gemm_windows_512", "gemv_axpy_512",
    "gemv_axpy_4_512", "gemv_axpy_prefetch_512", "gemv_axpy_bf16_512",
    "gemv_axpy_bf16_rows_512", "gemv_axpy_bf16_prefetch_512", "gemv_axpy_f16_512",
    "gemv_axpy_f16_prefetch_512", "gemv_axpy_f16_rows_512", "gemv_dot_512",
    "gemv_dot_prefetch_512", "gemv_dot_bytes", "gemv_axpy_bytes", "gemm_dot_bf16",
    "gemm_outer_512", "int_dot2_512", "int_dot2_s8_512", "int_dot2_u8_512",
    "int_dot4_512", "int_dot2_saturating_512", "int_dot2_saturating_wide_512",
    "copy_rows_512", "transpose", "transpose_prefetch", "transpose_pairs",
    "deinterleave", "interleave2_512", "interleave4_512", "load_512", "store_512",
    "fill_rows_512", "fill_registers_512", "graph_rows_512", "scaled_rows_512",
    "scaled_bytes_512", "graph_scalar", "map_rows_512", "reduce_rows_512",
    "reduce_columns_512", "scalar",
)  # fmt: skip

AVX512 = Target(
    name="avx512",
    cpu=isa.AVX512.cpu,
    features=isa.AVX512.features,
    isa=isa.AVX512,
    l1_lines=768,
    l1_ways=12,
    l2_lines=1 << 14,
    scheduler_entries=97,
    **shipped("avx512"),
    shared_ports=True,
    kernels=_KERNELS,
)
