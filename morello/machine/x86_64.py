"""x86-64: Intel's and AMD's processors."""

from morello.machine.architecture import Architecture, FloatControl
from morello.machine.cpuid import needs
from morello.machine.tile_permission import permit, used, withheld

_V1 = frozenset({"64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2"})
_V2 = _V1 | {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_ZEN1 = (_V3 | {"adx", "aes", "clflushopt", "pclmul", "prfchw", "rdrnd", "rdseed"}) | {
    "sha",
    "sse4a",
    "xsavec",
    "xsaveopt",
}
_ZEN2 = _ZEN1 | {"clwb", "rdpid"}
_ZEN3 = _ZEN2 | {"vaes", "vpclmulqdq"}
_ZEN4 = (_ZEN3 | _V4) | {
    "avx512bf16", "avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2",
    "avx512vnni", "avx512vpopcntdq", "gfni",
}  # fmt: skip

_CPU_FEATURES = {
    "x86-64": _V1,
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
    "haswell": _V3 | {"pclmul", "rdrnd", "xsaveopt"},
    "znver1": _ZEN1,
    "znver2": _ZEN2,
    "znver3": _ZEN3,
    "znver4": _ZEN4,
}

_NEVER_CHOSEN = frozenset(
    {
        *("adx", "aes", "clflushopt", "clwb", "cx16", "pclmul", "rdpid", "rdrnd"),
        *("rdseed", "sha", "vaes", "vpclmulqdq", "xsave", "xsavec", "xsaveopt"),
    }
)
"""Instruction sets that LLVM uses where a program asks for one by name, which
kernels do not. Virtual machines often hide some of them."""

_TUNING = frozenset({"prefer-128-bit", "prefer-256-bit"})

_FLAGS, _MASKS = 0x3F, 0x1F80
"""Bits of MXCSR: Intel's manual, volume 1, 10.2.3. The flags of exceptions that were
raised stay; all exceptions are masked. The rest is 0: round to nearest even, and
denormal numbers are kept."""

X86_64 = Architecture(
    names=("x86_64", "AMD64"),
    triple="x86_64-unknown-linux-gnu",
    # For haswell LLVM puts each sum right after its product, which leaves multipliers
    # idle on Zen 4 in loops with as many integer sums as products.
    tune="znver2",
    # For Zen LLVM orders instructions once more after it has given them registers, and
    # renames tiles that are free to ones that are not configured.
    other_tunes={"ldtilecfg": "sapphirerapids"},
    base_cpu="x86-64",
    base_features="+sse2",
    half_floats="+f16c",
    vector_cpu="x86-64-v3",
    vector_options="enable-x86=true",
    cpus=_CPU_FEATURES,
    never_chosen=_NEVER_CHOSEN,
    tuning=_TUNING,
    float_control=FloatControl(
        "llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr", _FLAGS, _MASKS
    ),
    withheld=withheld,
    used=used,
    permit=permit,
    needs=needs,
)
