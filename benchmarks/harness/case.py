"""Cases that contenders compute: a matmul, with its inputs and the one right answer."""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ITEM_BYTES = {"f32": 4, "bf16": 2, "u8": 1, "s8": 1, "s16": 2, "s32": 4}

_NUMPY: dict[str, Any] = {
    "f32": np.float32,
    "bf16": np.uint16,
    "u8": np.uint8,
    "s8": np.int8,
    "s16": np.int16,
    "s32": np.int32,
}
"""How arrays are stored; bf16 as its bits, so that no package is needed to read it."""

_RHS = {"row": "", "column": ":rhs=[0,2,1]", "open": ":rhs=any"}
"""The layouts of the right operand, and what they add to a Spec's text."""

_SUMS = {"wrapping": "", "saturating": ":saturating=true"}

_PRODUCTS = {"exact": "", "flushing": ":flushing=true"}

_INPUTS = {"small": "", "any": ":inputs=any"}

_BOUND = 4
"""Small inputs are integers of at most this size: every sum is exact, in any order."""

_ANY = {"u8": (0, 255), "s8": (-128, 127)}
"""All that a dtype has, where sums in s32 are exact all the same."""


class CaseError(ValueError):
    """A text that names no case; the message says what is wrong."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A batch of products ``out[b,m,n] = sum over k of lhs[b,m,k] * rhs[b,k,n]``.

    Args:
        sizes: (b, m, k, n).
        dtypes: of lhs, rhs and out.
        rhs: ``row``-major, ``column``-major, or ``open``: in whatever form a contender
            likes, brought there before the time is taken.
        sums: of narrow integers, ``wrapping`` or ``saturating``; the inputs of `Data`
            are too small for that to matter, but the instructions are others.
        products: of bf16 into f32, ``exact``, or ``flushing`` by what dot products of
            bf16 do: denormals count as zero, and pairs are rounded on the way.
        inputs: ``small`` integers, or, of bytes into s32, ``any``: pairs of products
            that leave 16 bits, which not every contender computes exactly.
    """

    sizes: tuple[int, int, int, int]
    dtypes: tuple[str, str, str] = ("f32", "f32", "f32")
    rhs: str = "row"
    sums: str = "wrapping"
    products: str = "exact"
    inputs: str = "small"

    def __post_init__(self) -> None:
        unknown = [d for d in self.dtypes if d not in ITEM_BYTES]
        if unknown or len(self.dtypes) != 3:
            raise CaseError(f"dtypes {self.dtypes}: use three of {', '.join(_NUMPY)}")
        if self.rhs not in _RHS or self.sums not in _SUMS:
            raise CaseError(f"no such form: rhs={self.rhs}, sums={self.sums}")
        of_bf16 = self.dtypes == ("bf16", "bf16", "f32")
        if self.products not in _PRODUCTS or (self.products != "exact" and not of_bf16):
            raise CaseError(
                f"products={self.products} of {','.join(self.dtypes)}: use exact; of "
                "bf16 into f32 exact or flushing"
            )
        bytes_to_s32 = set(self.dtypes[:2]) <= set(_ANY) and self.dtypes[2] == "s32"
        if self.inputs not in _INPUTS or (self.inputs == "any" and not bytes_to_s32):
            raise CaseError(
                f"inputs={self.inputs} of {','.join(self.dtypes)}: use small; of bytes "
                "into s32 small or any"
            )

    @property
    def text(self) -> str:
        """The case as it is written: its Spec, and what inputs it has."""
        return f"{self.spec}{_INPUTS[self.inputs]}"

    @property
    def spec(self) -> str:
        """The text of its Spec."""
        b, m, k, n = self.sizes
        sizes = "x".join(map(str, (m, k, n) if b == 1 else self.sizes))
        one = len(set(self.dtypes)) == 1
        dtypes = self.dtypes[0] if one else ",".join(self.dtypes)
        head = f"matmul:{sizes}:{dtypes}{_RHS[self.rhs]}"
        return f"{head}{_SUMS[self.sums]}{_PRODUCTS[self.products]}"

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each (b, m, k, n)."""
        return 2 * math.prod(self.sizes)

    @property
    def bytes(self) -> int:
        """Bytes that any program reads and writes at least once."""
        b, m, k, n = self.sizes
        left, right, out = (ITEM_BYTES[d] for d in self.dtypes)
        return b * (m * k * left + k * n * right + m * n * out)

    @classmethod
    def parse(cls, text: str) -> "Case":
        """The case that `text` writes so.

        Raises:
            CaseError: anything else.
        """
        head, *options = re.split(r":(?=\w+=)", text.strip())
        match = re.fullmatch(r"matmul:(\d+(?:x\d+){2,3})(?::([\w,]+))?", head)
        if not match:
            raise CaseError(f"'{text}' is no matmul; write matmul:512x512x512:f32")
        sizes = tuple(map(int, match[1].split("x")))
        b, m, k, n = (1, *sizes) if len(sizes) == 3 else sizes
        names = (match[2] or "f32").split(",")
        lhs, rhs, out = names * 3 if len(names) == 1 else (*names, "", "", "")[:3]
        forms = {
            "rhs": _RHS,
            "saturating": _SUMS,
            "flushing": _PRODUCTS,
            "inputs": _INPUTS,
        }
        single = {key: next(iter(words)) for key, words in forms.items()}
        for option in options:
            key = option.partition("=")[0]
            known = {form: word for word, form in forms.get(key, {}).items()}
            if f":{option}" not in known:
                raise CaseError(f"'{option}' in '{text}' is no option of a case")
            single[key] = known[f":{option}"]
        return cls(
            (b, m, k, n),
            (lhs, rhs, out),
            single["rhs"],
            single["saturating"],
            single["flushing"],
            single["inputs"],
        )


@dataclasses.dataclass(frozen=True)
class Data:
    """Operands of a case as they lie in memory, and the answer in 64 bits.

    Args:
        lhs: [b, m, k].
        rhs: [b, k, n]; of a column-major case [b, n, k].
        answer: [b, m, n], f64 or int64.
    """

    lhs: Array
    rhs: Array
    answer: Array

    @classmethod
    def make(cls, case: Case, seed: int = 0) -> "Data":
        """Random integers and their product by NumPy."""
        b, m, k, n = case.sizes
        rng = np.random.default_rng(seed)
        left = _draw(rng, (b, m, k), case.dtypes[0], case.inputs)
        right = _draw(rng, (b, k, n), case.dtypes[1], case.inputs)
        wide = np.float64 if case.dtypes[2] in ("f32", "bf16") else np.int64
        answer = np.matmul(left.astype(wide), right.astype(wide))
        lhs, rhs = store(left, case.dtypes[0]), store(right, case.dtypes[1])
        if case.rhs == "column":
            rhs = np.ascontiguousarray(rhs.transpose(0, 2, 1))
        return cls(lhs, rhs, answer)

    def in_form(self, case: Case, rhs: str) -> "Data":
        """The data of a case whose right operand is open, for it in a form of its own.

        It is [b, k, n] there, and [b, n, k] in a column-major one.
        """
        if case.rhs != "open" or rhs != "column":
            return self
        turned = np.ascontiguousarray(self.rhs.transpose(0, 2, 1))
        return dataclasses.replace(self, rhs=turned)


def _draw(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, inputs: str
) -> Array:
    small = 0 if dtype.startswith("u") else -_BOUND, _BOUND
    least, most = _ANY[dtype] if inputs == "any" else small
    return rng.integers(least, most, shape, dtype=np.int64, endpoint=True)


def store(values: Array, dtype: str) -> Array:
    """Integers that ``dtype`` has, as it stores them."""
    if dtype == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        return np.ascontiguousarray((bits >> 16).astype(np.uint16))
    return np.ascontiguousarray(values.astype(_NUMPY[dtype]))


def widen(stored: Array, dtype: str) -> Array:
    """Stored values as numbers of f64 or int64."""
    if dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64 if dtype == "f32" else np.int64)


def aligned(shape: tuple[int, ...], dtype: str, fill: int = 0xA5) -> Array:
    """A new array at a multiple of 64 bytes, every byte ``fill``.

    All contenders get their operands so, and none an advantage by chance.
    """
    memory = bytes_on_line(math.prod(shape) * ITEM_BYTES[dtype], fill)
    return memory.view(_NUMPY[dtype]).reshape(shape)


def bytes_on_line(count: int, fill: int) -> Array:
    """New bytes, the first at a multiple of 64."""
    memory = np.full(count + 64, fill, np.uint8)
    start = -int(memory.ctypes.data) % 64
    return memory[start : start + count]


def aligned_copy(array: Array, dtype: str) -> Array:
    """Copy an array to an address that is a multiple of 64 bytes."""
    copy = aligned(array.shape, dtype)
    copy[...] = array
    return copy
