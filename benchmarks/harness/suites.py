"""The workloads by name."""

from benchmarks.harness.case import Case, CaseError

_BF16 = "bf16,bf16,f32"

SUITES: dict[str, tuple[str, ...]] = {
    "f32-squares": tuple(
        f"matmul:{n}x{n}x{n}:f32"
        for n in (64, 100, 128, 256, 300, 512, 700, 1024, 2048)
    ),
    "f32-skinny": (
        "matmul:1x4096x4096:f32",
        "matmul:4x4096x4096:f32",
        "matmul:4096x4096x1:f32",
        "matmul:16x1024x16:f32",
        "matmul:1000x3x1000:f32",
        "matmul:31x33x35:f32",
        "matmul:2048x64x2048:f32",
        "matmul:64x32x32x32:f32",
    ),
    "bf16-vecmat": (
        f"matmul:1x2048x16384:{_BF16}",
        f"matmul:1x2048x16384:{_BF16}:rhs=[0,2,1]",
        f"matmul:1x2048x16384:{_BF16}:rhs=any",
    ),
    "bf16-squares": tuple(f"matmul:{n}x{n}x{n}:{_BF16}" for n in (256, 1024)),
    "bf16-dot": tuple(
        f"matmul:{n}x{n}x{n}:{_BF16}:flushing=true" for n in (128, 512, 1024, 2048)
    ),
    "u8s8s32": tuple(
        f"matmul:{n}x{n}x{n}:u8,s8,s32{inputs}"
        for inputs in ("", ":inputs=any")
        for n in (128, 512, 1024)
    ),
    "u8s8s16": tuple(
        f"matmul:{n}x{n}x{n}:u8,s8,s16{form}"
        for n in (512, 1024)
        for form in ("", ":saturating=true")
    ),
}


def cases(words: list[str]) -> list[Case]:
    """The cases that suites and Specs name, each once; all suites if there are none.

    Raises:
        CaseError: neither a suite nor a case.
    """
    texts: list[str] = []
    for word in words or list(SUITES):
        if word not in SUITES and ":" not in word:
            raise CaseError(
                f"no suite is called '{word}'; there are {', '.join(SUITES)}"
            )
        texts += SUITES.get(word, (word,))
    return list(dict.fromkeys(Case.parse(text) for text in texts))


def suite_of(text: str) -> str:
    """The first suite that has a Spec; ``others`` if none has."""
    return next((name for name, texts in SUITES.items() if text in texts), "others")
