"""The loops that roofs are measured with, as LLVM IR for AVX2, or for AVX-512.

Each holds 12 vectors in registers that depend on themselves only, of AVX-512 24: more
than latency times throughput of the instructions needs on today's cores.
"""

import dataclasses

_CHAINS = {False: 12, True: 24}
"""Vectors, of 32 bytes or 64."""
_LINE = 64
_UNROLL = 8
"""Lines that a stream advances in one trip."""


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """One step of a chain, and how many operations it stands for.

    Args:
        type: of the vector.
        step: IR that makes ``%out{i}`` of ``%acc{i}``, the constants ``%x`` and ``%y``.
        operations: multiplications and additions of a step.
    """

    type: str
    step: str
    operations: int


def _multiply(instruction: str, to: str, left: str, right: str) -> str:
    """A multiplication that LLVM must not move out of the loop."""
    vector = "<8 x i32>"
    code = f'asm sideeffect "{instruction} $2, $1, $0", "=x,x,x"'
    return f"{to} = call {vector} {code}({vector} {left}, {vector} {right})"


def _half_words(add: str) -> str:
    """A sum of vectors of 16-bit integers in vectors of 32-bit ones."""
    return (
        "%u{i} = bitcast <8 x i32> %m{i} to <16 x i16>\n"
        "  %w{i} = bitcast <8 x i32> %acc{i} to <16 x i16>\n"
        f"  %s{{i}} = {add}\n"
        "  %out{i} = bitcast <16 x i16> %s{i} to <8 x i32>"
    )


_INTEGERS = "<8 x i32>"
_BYTES = _multiply("vpmaddubsw", "%m{i}", "%x", "%y")
_WORDS = "  %out{i} = add <8 x i32> %m{i}, %acc{i}"
_SATURATE = "call <16 x i16> @llvm.sadd.sat.v16i16(<16 x i16> %u{i}, <16 x i16> %w{i})"

_FMA = Arithmetic(
    "<8 x float>",
    "%out{i} = call <8 x float> @llvm.fma.v8f32"
    "(<8 x float> %x, <8 x float> %y, <8 x float> %acc{i})",
    16,
)

DOT_BF16 = "vdpbf16ps f32"
"""The loop of products of bf16 that may flush. AVX2 has no such instruction: its loop
multiplies f32."""

ARITHMETIC = {
    "fma f32": _FMA,
    DOT_BF16: _FMA,
    "vpmulld s32": Arithmetic(
        _INTEGERS, f"{_multiply('vpmulld', '%m{i}', '%x', '%y')}\n{_WORDS}", 16
    ),
    "vpmaddwd s32": Arithmetic(
        _INTEGERS, f"{_multiply('vpmaddwd', '%m{i}', '%x', '%y')}\n{_WORDS}", 32
    ),
    "vpmaddubsw s32": Arithmetic(
        _INTEGERS,
        f"{_multiply('vpmaddubsw', '%h{i}', '%x', '%y')}\n"
        f"  {_multiply('vpmaddwd', '%m{i}', '%h{i}', '%x')}\n{_WORDS}",
        64,
    ),
    "vpmaddubsw s16": Arithmetic(
        _INTEGERS, f"{_BYTES}\n  {_half_words('add <16 x i16> %u{i}, %w{i}')}", 64
    ),
    "vpmaddubsw+vpaddsw s16": Arithmetic(
        _INTEGERS, f"{_BYTES}\n  {_half_words(_SATURATE)}", 64
    ),
}
"""Loops by name: the instruction that multiplies, and the type of the sums.

Products are added to the sums as kernels do it: with ``vpaddd`` or ``vpaddw``, or where
it is named with the saturating ``vpaddsw``.
"""


_DOT = (
    "%out{i} = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512"
    "(<16 x i32> %acc{i}, <64 x i8> %a, <64 x i8> %b)"
)

WIDE = {
    "fma f32": Arithmetic(
        "<16 x float>",
        "%out{i} = call <16 x float> @llvm.fma.v16f32"
        "(<16 x float> %x, <16 x float> %y, <16 x float> %acc{i})",
        32,
    ),
    DOT_BF16: Arithmetic(
        "<16 x float>",
        "%out{i} = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512"
        "(<16 x float> %acc{i}, <32 x bfloat> %p, <32 x bfloat> %q)",
        64,
    ),
    "vpmulld s32": Arithmetic(
        "<16 x i32>",
        _multiply("vpmulld", "%m{i}", "%x", "%y")
        .replace("<8", "<16")
        .replace("=x,x,x", "=v,v,v")
        + "\n  %out{i} = add <16 x i32> %m{i}, %acc{i}",
        32,
    ),
    **dict.fromkeys(
        (name for name in ARITHMETIC if name.startswith("vpmadd")),
        Arithmetic("<16 x i32>", _DOT, 128),
    ),
}
"""Loops of AVX-512 with VNNI: whatever multiplies bytes with AVX2, ``vpdpbusd``
does."""

WIDE_CPU = ("x86-64-v4", "+avx512vnni")
"""The CPU and the features of `WIDE`, but for `DOT_BF16`."""


def wide_cpu(name: str) -> tuple[str, str]:
    """The CPU and the features of a loop of `WIDE`."""
    cpu, features = WIDE_CPU
    return cpu, f"{features},+avx512bf16" if name == DOT_BF16 else features


def arithmetic_text(name: str, wide: bool = False) -> str:
    """``void loop(i64 trips, ptr in, ptr out)``: ``in`` has two vectors."""
    loop = (WIDE if wide else ARITHMETIC)[name]
    vector, chains = loop.type, range(_CHAINS[wide])
    add = "fadd" if "float" in vector else "add"
    starts = [f"  %s0 = {add} {vector} %x, %y"]
    starts += [f"  %s{i} = {add} {vector} %s{i - 1}, %y" for i in chains[1:]]
    starts = [line.replace("%s", "%start") for line in starts]
    phis = [
        f"  %acc{i} = phi {vector} [ %start{i}, %entry ], [ %out{i}, %loop ]"
        for i in chains
    ]
    steps = [f"  {loop.step.format(i=i)}" for i in chains]
    sums = [
        f"  %sum{i} = {add} {vector} %{f'sum{i - 1}' if i > 1 else 'out0'}, %out{i}"
        for i in chains[1:]
    ]
    newline = "\n"
    casts = "".join(
        f"  %{to} = bitcast {vector} %{of} to {narrow}\n"
        for to, of, narrow in (
            ("a", "x", "<64 x i8>"),
            ("b", "y", "<64 x i8>"),
            ("p", "x", "<32 x bfloat>"),
            ("q", "y", "<32 x bfloat>"),
        )
        if wide
    )
    return f"""
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x i16> @llvm.sadd.sat.v16i16(<16 x i16>, <16 x i16>)
declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <64 x i8>, <64 x i8>)
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>,
                                                       <32 x bfloat>)
define void @loop(i64 %trips, ptr %in, ptr %to) {{
entry:
  %x = load {vector}, ptr %in, align 1
  %next = getelementptr i8, ptr %in, i64 {64 if wide else 32}
  %y = load {vector}, ptr %next, align 1
{casts}{newline.join(starts)}
  br label %loop
loop:
  %trip = phi i64 [ 0, %entry ], [ %trip1, %loop ]
{newline.join(phis)}
{newline.join(steps)}
  %trip1 = add i64 %trip, 1
  %done = icmp uge i64 %trip1, %trips
  br i1 %done, label %exit, label %loop
exit:
{newline.join(sums)}
  store {vector} %sum{_CHAINS[wide] - 1}, ptr %to, align 1
  ret void
}}
"""


def operations(name: str, wide: bool = False) -> int:
    """Operations of one trip of `arithmetic_text`."""
    return _CHAINS[wide] * (WIDE if wide else ARITHMETIC)[name].operations


@dataclasses.dataclass(frozen=True)
class Reading:
    """A way to read memory from end to end.

    Args:
        streams: how many parts are read side by side.
        prefetch: bytes ahead of the reads that lines are asked for; 0 for none.
    """

    streams: int
    prefetch: int

    @property
    def chunk(self) -> int:
        """Bytes that one trip reads; sizes are multiples of it."""
        return self.streams * _UNROLL * _LINE

    def text(self) -> str:
        """``void loop(i64 trips, ptr in, ptr out, i64 bytes)``: reads ``in`` again."""
        streams = range(self.streams)
        starts = [
            f"  %o{s} = mul i64 %part, {s}\n"
            f"  %p{s} = getelementptr i8, ptr %in, i64 %o{s}"
            for s in streams
        ]
        halves = [(s, h) for s in streams for h in range(2 * _UNROLL)]
        reads = [line for s, h in halves for line in self._read(s, h)]
        names = [f"{c}" for c in range(8)]
        phis = [
            f"  %a{c} = phi <4 x i64> [ zeroinitializer, %again ], [ {last}, %read ]"
            for c, last in zip(names, self._last(len(halves)), strict=True)
        ]
        finals = self._last(len(halves))
        sums = [f"  %t0 = add <4 x i64> {finals[0]}, {finals[1]}"] + [
            f"  %t{i} = add <4 x i64> %t{i - 1}, {finals[i + 1]}" for i in range(1, 7)
        ]
        newline = "\n"
        return f"""
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
define void @loop(i64 %trips, ptr %in, ptr %to, i64 %bytes) {{
entry:
  %part = udiv i64 %bytes, {self.streams}
{newline.join(starts)}
  br label %again
again:
  %trip = phi i64 [ 0, %entry ], [ %trip1, %next ]
  br label %read
read:
  %at = phi i64 [ 0, %again ], [ %at1, %read ]
{newline.join(phis)}
{newline.join(reads)}
  %at1 = add i64 %at, {_UNROLL * _LINE}
  %end = icmp uge i64 %at1, %part
  br i1 %end, label %next, label %read
next:
{newline.join(sums)}
  store <4 x i64> %t6, ptr %to, align 1
  %trip1 = add i64 %trip, 1
  %done = icmp uge i64 %trip1, %trips
  br i1 %done, label %exit, label %again
exit:
  ret void
}}
"""

    def _read(self, stream: int, half: int) -> list[str]:
        """Half a line is read and added to one of 8 sums."""
        i = stream * 2 * _UNROLL + half
        before = f"%a{i}" if i < 8 else f"%r{i - 8}"
        lines = [
            f"  %d{i} = add i64 %at, {half * _LINE // 2}",
            f"  %g{i} = getelementptr i8, ptr %p{stream}, i64 %d{i}",
            f"  %v{i} = load <4 x i64>, ptr %g{i}, align 1",
            f"  %r{i} = add <4 x i64> {before}, %v{i}",
        ]
        if self.prefetch and half % 2 == 0:
            lines += [
                f"  %f{i} = getelementptr i8, ptr %g{i}, i64 {self.prefetch}",
                f"  call void @llvm.prefetch.p0(ptr %f{i}, i32 0, i32 3, i32 1)",
            ]
        return lines

    def _last(self, count: int) -> list[str]:
        return [f"%r{count - 8 + c}" for c in range(8)]


READINGS = (
    *(Reading(streams, 0) for streams in (4, 1, 8, 2)),
    *(Reading(streams, 512) for streams in (1, 4)),
)
"""The ways that are tried; the best one is the roof."""
