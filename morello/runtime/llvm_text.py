"""LLVM IR text of the bindings' LLVM, brought to the older LLVM inside llvmlite.

`downgrade` is the entry point. The newer LLVM prints floating-point constants in forms
that the older one cannot read (``+inf``, ``f0x3DCCCCCD``, ``float 1.000000e-01``); they
become hexadecimal constants of the same bits. Everything else is left as it is, and
llvmlite's own parser has the last word on whether the result is understood.

`refuse_hazards` refuses constructs that no kernel may hold: pointer arithmetic through
integers, which LLVM 22 can miscompile, ``undef``, and a function that chooses its own
CPU behind the back of the check of features.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from morello.errors import CompileError


class _Format(NamedTuple):
    """A binary floating-point format, and how LLVM 22 spells its constants."""

    exponent: int
    """Bits of the exponent."""
    mantissa: int
    """Bits of the mantissa that are stored."""
    prefix: str
    """The prefix of the digits; ``0x`` takes the bits widened to double."""

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def infinity(self) -> int:
        """The bits of +inf: an exponent of ones."""
        return ((1 << self.exponent) - 1) << self.mantissa


_DOUBLE = _Format(11, 52, "0x")
_FORMATS = {
    "half": _Format(5, 10, "0xH"),
    "bfloat": _Format(8, 7, "0xR"),
    "float": _Format(8, 23, "0x"),
    "double": _DOUBLE,
}

_TOKEN = re.compile(
    r"""
    (?P<string>  c?"[^"]*" )
  | (?P<name>    [%@!\#$](?:"[^"]*"|[-\w.$]+) )
  | (?P<label>   [-\w.$]+: )
  | (?P<literal> f0x[0-9A-Fa-f]+
               | [-+]?(?:inf|qnan)\b
               | [-+]?s?nan\(0x[0-9A-Fa-f]+\)
               | [-+]?\d+\.\d*(?:[eE][-+]?\d+)? )
  | (?P<word>    [A-Za-z_][\w.]* )
  | (?P<number>  -?\w+ )
  | (?P<space>   \s+ )
  | (?P<comment> ;.* )
  | (?P<other>   \.\.\.|. )
    """,
    re.VERBOSE,
)
# A line without any of these has nothing to rewrite and nothing to refuse.
_HINTS = (
    *(f"{digit}." for digit in range(10)),
    "f0x",
    "inf",
    "nan",
    "fp80",
    "fp128",
    ";",
)
_UNSUPPORTED_TYPES = {"x86_fp80", "fp128", "ppc_fp128"}
_TYPE_WORD = re.compile(r"(?:half|bfloat|float|double|ptr|void|label|i\d+)\Z")
_INTRINSIC = re.compile(r"(declare .*@llvm\..*\))\s+#\d+")
_HAZARDS = {
    "inttoptr": "pointer arithmetic through integers can be miscompiled",
    "undef": "an undefined value may differ at each use; a register is read before it "
    "is written",
}
_BF16 = re.compile(r"\bbfloat\b|\b0xR([0-9A-Fa-f]{4})\b")
_BF16_USE = re.compile(
    r"\b(?:f(?:add|sub|mul|div|rem|neg|cmp|pext|ptrunc|pto[su]i)|[su]itofp)\b.*\bbfloat\b"
    r"|@llvm\.[\w.]*bf16"
)
"""Arithmetic on bfloat, and intrinsics whose names say it."""
_OWN_CPU = re.compile(r'"(?:target-cpu|target-features|tune-cpu)"')
_REFUSED = ('"target-cpu"', '"target-features"', '"tune-cpu"', *_HAZARDS)


def _lines(words: Iterable[str], text: str) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of each line that has one of some words: few of very many.

    To look for one word after the other takes a fifth of the time of a pattern.
    """
    ends: dict[int, int] = {}
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            ends[text.rfind("\n", 0, at) + 1] = end
            at = text.find(word, end)
    number, counted = 1, 0
    for start, end in sorted(ends.items()):
        number, counted = number + text.count("\n", counted, start), start
        yield number, start, end


def _round(value: Fraction, form: _Format) -> int:
    """The bits of a value >= 0, rounded once to nearest, ties to even."""
    if value == 0:
        return 0
    bias = (1 << (form.exponent - 1)) - 1
    scale = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** scale:
        scale -= 1
    # Below the least normal exponent the spacing stays: denormals.
    scale = max(scale, 1 - bias)
    count = round(value / Fraction(2) ** (scale - form.mantissa))
    # Adding, not joining: a count that rounded up to 2^(mantissa+1) carries over, and
    # a denormal's missing leading bit takes one off the exponent.
    bits = ((scale + bias - 1) << form.mantissa) + count
    return min(bits, form.infinity)


def _bits(literal: str, form: _Format) -> int:
    """The bits that a literal of the newer LLVM means in a format."""
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    sign = (1 << (form.width - 1)) if literal[0] == "-" else 0
    body = literal.lstrip("+-")
    quiet = 1 << (form.mantissa - 1)
    if body == "inf":
        return sign | form.infinity
    if body == "qnan":
        return sign | form.infinity | quiet
    if "nan(" in body:
        payload = int(body[body.index("0x") + 2 : -1], 16)
        kind = 0 if body.startswith("s") else quiet
        return sign | form.infinity | kind | payload
    return sign | _round(Fraction(body), form)


def _widen(bits: int, form: _Format) -> int:
    """A float's bits as the double of the same value; NaN payloads are kept."""
    if form is _DOUBLE:
        return bits
    sign = bits >> (form.width - 1) << 63
    exponent = (bits & form.infinity) >> form.mantissa
    fraction = bits & ((1 << form.mantissa) - 1)
    shift = _DOUBLE.mantissa - form.mantissa
    if bits & form.infinity == form.infinity:
        return sign | _DOUBLE.infinity | fraction << shift
    if exponent == 0:
        smallest = Fraction(2) ** (2 - (1 << (form.exponent - 1)) - form.mantissa)
        return sign | _round(fraction * smallest, _DOUBLE)
    rebias = (1 << (_DOUBLE.exponent - 1)) - (1 << (form.exponent - 1))
    return sign | (exponent + rebias) << _DOUBLE.mantissa | fraction << shift


def _spell(literal: str, kind: str) -> str:
    """A literal of the newer LLVM as LLVM 22 reads it."""
    form = _FORMATS[kind]
    bits = _bits(literal, form)
    if bits >> form.width:
        raise ValueError(f"more bits than {kind} has")
    if form.prefix == "0x":
        return f"0x{_widen(bits, form):016X}"
    return f"{form.prefix}{bits:04X}"


def _error(number: int, line: str, what: str) -> CompileError:
    return CompileError(
        f"LLVM IR line {number}: {what}: {line.strip()!r}",
        "the JIT does not accept this construct; please report it",
    )


def _downgrade_line(number: int, line: str) -> str:
    """One line with its floating-point constants respelled.

    The type of a constant is the last type before it: ``float 1.0`` says it itself,
    and in ``fadd float %a, 1.0`` or ``phi float [ 1.0, %b ]`` it is the instruction's.

    Raises:
        CompileError: a constant that has no type that we know.
    """
    kind: str | None = None
    out: list[str] = []
    for match in _TOKEN.finditer(line):
        token = match.group()
        match match.lastgroup:
            case "comment":
                break
            case "word" if token in _UNSUPPORTED_TYPES:
                raise _error(number, line, f"type {token} has no place in a kernel")
            case "word" if _TYPE_WORD.match(token):
                kind = token
            case "literal":
                if kind not in _FORMATS:
                    raise _error(number, line, f"constant {token!r} has no type")
                try:
                    token = _spell(token, kind)
                except ValueError as error:
                    reason = f"constant {token!r}: {error}"
                    raise _error(number, line, reason) from error
            case _:
                pass
        out.append(token)
    return "".join(out).rstrip()


def downgrade(text: str) -> str:
    """LLVM IR text of the bindings as text that llvmlite's LLVM reads.

    Args:
        text: a module as ``translate_module_to_llvmir`` prints it.

    Raises:
        CompileError: a constant whose meaning is not certain, with its line.
    """
    parts: list[str] = []
    done = 0
    for number, start, end in _lines((*_HINTS, "declare "), text):
        line = _downgrade_line(number, text[start:end])
        # The older LLVM knows its intrinsics' attributes, and may not know these.
        if intrinsic := _INTRINSIC.fullmatch(line):
            line = intrinsic[1]
        parts += text[done:start], line
        done = end
    whole = "".join(parts) + text[done:]
    return whole if whole.endswith("\n") else f"{whole}\n"


def bf16_as_bits(text: str) -> str:
    """The module with ``i16`` for ``bfloat``, where that is moved and no more.

    Without instructions for it, LLVM keeps a bfloat that lives beyond its basic block
    as a float, and calls the compiler's runtime to round it back.
    """
    if "bfloat" not in text:
        return text
    parts: list[str] = []
    done = 0
    for _, start, end in _lines(("bfloat", "bf16", "0xR"), text):
        line = text[start:end]
        if _BF16_USE.search(line):
            return text
        parts += text[done:start], _BF16.sub(_as_bits, line)
        done = end
    return "".join(parts) + text[done:]


def _as_bits(match: re.Match[str]) -> str:
    return "i16" if match[0] == "bfloat" else str((int(match[1], 16) ^ 0x8000) - 0x8000)


_TRUTH = re.compile(
    r"^ +(?P<value>%[\w.]+) = load i1, (?P<place>ptr .*)|"
    r"^ +store i1 (?P<stored>[^,]+), (?P<target>ptr .*)",
    re.MULTILINE,
)


def truth_as_bytes(text: str) -> str:
    """The module with bytes for truth values in memory: LLVM makes no vectors of loads
    and stores whose type has fewer bits than its place."""
    number = itertools.count()

    def moved(match: re.Match[str]) -> str:
        byte = f"%truth{next(number)}"
        if value := match["value"]:
            read = f"  {byte} = load i8, {match['place']}\n"
            return f"{read}  {value} = trunc i8 {byte} to i1"
        wide = f"  {byte} = zext i1 {match['stored']} to i8\n"
        return f"{wide}  store i8 {byte}, {match['target']}"

    return _TRUTH.sub(moved, text)


def refuse_hazards(text: str) -> None:
    """Refuse LLVM IR with constructs that a kernel must not have.

    Args:
        text: LLVM IR, before or after optimisation.

    Raises:
        CompileError: an ``inttoptr``, an ``undef``, or a function with its own CPU,
            with its line.
    """
    for number, start, end in _lines(_REFUSED, text):
        line = text[start:end]
        if _OWN_CPU.search(line):
            reason = "a function sets its own CPU, which the engine alone decides"
            raise _error(number, line, reason)
        for match in _TOKEN.finditer(line):
            if match.lastgroup == "comment":
                break
            if match.lastgroup == "word" and match.group() in _HAZARDS:
                raise _error(
                    number, line, f"{match.group()}: {_HAZARDS[match.group()]}"
                )
