"""Inputs of strangers, mutated: each is taken or refused, in seconds, with a message.

Each kind of input has a corpus and a command that reads it. A case mutates a member of
the corpus by its seed and gives it to the command in a forked process. It must end by
itself within `SECONDS` of computing, with exit code 0, 1 or 2 and without a traceback;
what is refused is refused in words.
"""

import contextlib
import dataclasses
import functools
import io
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import morello
from morello.machine import AVX2, print_target
from morello.tools import morello_opt
from morello.tools.morello import main
from tests.database.small import filled

SECONDS = 10
"""The most that a case may compute."""

WAITING = 100
"""The most that it may take, however busy the machine is."""

_LIT = Path(__file__).parents[2] / "lit"

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\w.$@#%!^-]+|\s+|.', re.DOTALL)

_ODD = (
    *("0", "-1", "1", "2", "9223372036854775807", "99999999999999999999", "1e9", "0x"),
    *('""', '"', "{", "}", "[", "]", "(", ")", "<", ">", ":", ",", "=", "->", "@", "%"),
    *("f32", "i65536", "array<i128: 1>", "unit", "loc(unknown)", "\x1b[31m", "\u202e"),
    *("٣", "é", "\0", "\n", "//", "// -----", "^bb0", "-" * 300, "(" * 300, "none"),
)
"""What mutations put in."""


def mutate_text(text: str, rng: random.Random, others: Sequence[str] = ()) -> str:
    """A text with some tokens changed, or cut.

    Args:
        text: what to change.
        rng: how.
        others: texts whose tokens may be put in.
    """
    tokens = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 12))):
        other = _TOKEN.findall(rng.choice(others)) if others else []
        place = rng.randrange(len(tokens) + 1)
        rest = tokens[place:]
        tokens[place:] = _mutated(rest, rng, other or tokens) if rest else ["0"]
    return "".join(tokens)


def _mutated(rest: list[str], rng: random.Random, other: list[str]) -> list[str]:
    """Tokens that are changed at their beginning."""
    first, *more = rest
    ways: tuple[list[str], ...] = (
        more,
        [first, *rest],
        [rng.choice(_ODD), *more],
        [rng.choice(_ODD), *rest],
        [rng.choice(other), *more],
        [*more, first],
        [_mutate_characters(first, rng), *more],
        [*rest[: rng.randrange(1, 9)], *rest],
        [] if rng.randrange(6) == 0 else [rng.choice(other), *rest],
    )
    return rng.choice(ways)


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes with some of them changed, taken out or put in, or cut."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        place = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0 if changed:
                changed[place % len(changed)] ^= 1 << rng.randrange(8)
            case 1:
                del changed[place : place + rng.choice((1, 2, 16, 4096))]
            case 2:
                changed[place:place] = rng.randbytes(rng.choice((1, 4, 256)))
            case 3:
                length = rng.choice((1, 8, 512))
                changed[place : place + length] = bytes(length)
            case _ if rng.randrange(4) == 0:
                del changed[place:]
    return bytes(changed)


def _mutate_characters(token: str, rng: random.Random) -> str:
    place = rng.randrange(len(token) + 1)
    piece = rng.choice((chr(rng.randrange(32, 127)), rng.choice(_ODD), ""))
    return token[:place] + piece + token[place + 1 :]


@dataclasses.dataclass(frozen=True)
class Inputs:
    """A kind of input.

    Args:
        prepare: makes what the cases need in a folder, once.
        run: reads the input of a seed, in the folder; gives the exit code.
    """

    prepare: Callable[[Path], None]
    run: Callable[[Path, random.Random], int]


def check_inputs(name: str, kind: Inputs, seeds: Sequence[int]) -> int:
    """Check a kind of input, by its name in the soak; how many cases were.

    Raises:
        AssertionError: one did not end as it must; begins with how to run it again.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        kind.prepare(place)
        for seed in seeds:
            fault = _fault(kind, place, seed)
            command = f"python -m tests.soak {name} --count 1 --seed {seed}"
            assert not fault, f"{command}  # {fault}"
    return len(seeds)


def _fault(kind: Inputs, place: Path, seed: int) -> str:
    """What is wrong with a case; empty if nothing is."""
    said = place / "said"
    start = time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run(kind, place, seed, said)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - start
    text = said.read_text(errors="replace")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"{name} after {seconds:.1f} s: {text[-500:]}"
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 2):
        return f"exit code {code}: {text[-1500:]}"
    if "Traceback" in text or re.search(r"internal error in .* \((?!signal )", text):
        return text[-1500:]
    if code and not text.strip():
        return f"exit code {code} without a word"
    return ""


def _run(kind: Inputs, place: Path, seed: int, said: Path) -> None:
    """The case itself, in a process of its own, which ends here."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(WAITING)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    code = 99
    with said.open("wb", 0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        out = io.TextIOWrapper(file, write_through=True)
        sys.stdout = sys.stderr = out
        try:
            warnings.simplefilter("default")
            os.chdir(place)
            code = kind.run(place, random.Random(seed))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 98
        except BaseException:  # noqa: BLE001 -- this is what is looked for
            traceback.print_exc(file=out)
        with contextlib.suppress(Exception):
            out.flush()
    os._exit(code)


def quietly(command: Callable[[Sequence[str]], int], *words: str) -> None:
    """Run a command that is no case, so that what it imports and loads is there for
    all cases."""
    said = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = command(words)
    said.seek(0)
    assert code in (0, 1), said.read()


def _prepare_specs(place: Path) -> None:
    quietly(main, "emit", "--stage", "spec", "fill:3:f32")


_PIPELINES = (
    (),
    ("--split-input-file", "--verify-diagnostics"),
    ("--morello-apply-schedule",),
    ("--morello-apply-schedule", "--morello-lower-kernels", "--morello-plan-memory"),
    ("--morello-synthesize=fill=true",),
    ("--morello-lower-kernels", "--morello-lower-to-llvm"),
    ("--morello-entry-points", "--morello-parallelize", "--morello-check-lowered"),
    ("--convert-linalg-to-morello",),
    ("--convert-stablehlo-to-morello",),
    ("--canonicalize", "--cse", "--mlir-print-ir-after-all"),
    ("--verify-roundtrip", "--mlir-print-op-generic"),
)


def _prepare_mlir(place: Path) -> None:
    _chunks()
    (place / "x.mlir").write_text("func.func @f() { return }\n")
    for passes in _PIPELINES:
        quietly(morello_opt.main, str(place / "x.mlir"), *passes)


@functools.cache
def _chunks() -> list[str]:
    """Every piece of every lit file of a small size."""
    texts = (path.read_text() for path in sorted(_LIT.rglob("*.mlir")))
    pieces = (piece for text in texts for piece in text.split("// -----"))
    return [piece for piece in pieces if 0 < len(piece) < 6000]


def _run_mlir(place: Path, rng: random.Random) -> int:
    chunks = _chunks()
    text = mutate_text(rng.choice(chunks), rng, chunks)
    (place / "x.mlir").write_bytes(text.encode("utf-8", "surrogatepass"))
    reproducer = f"--crash-reproducer={place / 'crash.mlir'}"
    return morello_opt.main(["x.mlir", *rng.choice(_PIPELINES), reproducer])


def _run_flags(place: Path, rng: random.Random) -> int:
    words = [w for line in _PIPELINES for w in line] + [
        "--pass-pipeline=builtin.module(func.func(cse,canonicalize{max-iterations=3}))",
        "--pass-pipeline=any(cse,morello-apply-schedule{target=avx2})",
        "--canonicalize=max-iterations=3 top-down=false",
        "--mlir-print-ir-before=cse",
        "--mlir-elide-elementsattrs-if-larger=2",
    ]
    (place / "x.mlir").write_text("func.func @f() { return }\n")
    chosen = [
        mutate_text(rng.choice(words), rng, words) for _ in range(rng.choice((1, 2)))
    ]
    chosen = [word.replace("\0", "0") for word in chosen]
    return morello_opt.main(["x.mlir", *chosen, "-o", "/dev/null"])


def _run_spec(place: Path, rng: random.Random) -> int:
    texts = [
        "matmul:4x5x6:f32",
        "matmul_accum:2x4x5x6:bf16,bf16,f32:lhs=[0,1,2]@L1/strided:l1=64",
        "move:13x21:f32:dst=[1,0]:vrf=16:l2=512",
        "fill:5x5:s32:value=lowest",
        "max:9x70:f32",
        "sum:9x70:f32",
        "matmul:1x64x64:u8,s8,s32:rhs=any",
        "move:4x24:f32:dst=[0,1p8]/12",
    ]
    text = mutate_text(rng.choice(texts), rng, texts).replace("\0", "0")
    return main(["emit", "--stage", "spec", "--", text])


def _run_target(place: Path, rng: random.Random) -> int:
    whole = print_target(AVX2, whole=True)
    texts = ["avx2", "avx2{threads=2}", "avx2-zen3{l1_lines=256,fork=1000}", whole]
    text = mutate_text(rng.choice(texts), rng, texts).replace("\0", "0")
    if rng.randrange(2):
        comment = "# a comment\n" if rng.randrange(2) else ""
        (place / "x.target").write_text(comment + text, "utf-8", "surrogatepass")
        text = "@x.target"
    spec = rng.choice(("fill:4x8:f32", "max:3x9:f32", "move:5x7:f32"))
    words = ["emit", spec, "--stage", "schedule", "--db", "none", "-o", "/dev/null"]
    return main([*words, f"--target={text}"])


def _prepare_targets(place: Path) -> None:
    for spec in ("fill:4x8:f32", "max:3x9:f32", "move:5x7:f32"):
        words = ("emit", spec, "--stage", "schedule", "--target", "avx2{threads=2}")
        quietly(main, *words, "--db", "none")


_SCHEDULED = ("move:4x20:f32", "fill:5x7:f32", "matmul:4x4x8:f32", "max:6x10:f32")


def _prepare_schedules(place: Path) -> None:
    for number, spec in enumerate(_SCHEDULED):
        kernel = morello.compile(spec, target="avx2", threads=1, db="none")
        (place / f"{number}.schedule").write_text(kernel.schedule)
    words = ("run", _SCHEDULED[0], "--schedule", str(place / "0.schedule"))
    quietly(main, *words, "--db", "none", "--threads", "1")


def _run_schedule(place: Path, rng: random.Random) -> int:
    texts = [(place / f"{n}.schedule").read_text() for n in range(len(_SCHEDULED))]
    number = rng.randrange(len(texts))
    text = mutate_text(texts[number], rng, texts)
    (place / "x.mlir").write_text(text, "utf-8", "surrogatepass")
    words = ["run", _SCHEDULED[number], "--schedule", "x.mlir", "--db", "none"]
    return main([*words, "--time-limit", "2", "--threads", "1"])


_ARRAYS = "matmul:5x7x3:f32"


def _prepare_arrays(place: Path) -> None:
    kernel = morello.compile(_ARRAYS, target="avx2", threads=1, db="none")
    (place / "x.mlir").write_text(kernel.schedule)
    np.save(place / "x.npy", np.zeros((1, 5, 7), np.float32))
    words = ("run", _ARRAYS, "--schedule", str(place / "x.mlir"))
    flags = ("--input", f"lhs={place / 'x.npy'}")
    quietly(main, *words, *flags, "--db", "none", "--threads", "1")


def _run_array(place: Path, rng: random.Random) -> int:
    buffer = io.BytesIO()
    shape = rng.choice(((5, 7), (1, 5, 7), (7, 5), (5, 7, 1)))
    dtype = rng.choice(("<f4", "<f4", "<f8", ">f4", "<u2", "O", "f4,i4"))
    array = np.zeros(shape, dtype)
    if rng.randrange(4) == 0:
        array = np.asfortranarray(array)
    np.lib.format.write_array(buffer, array, rng.choice(((1, 0), (2, 0), (3, 0))))
    data = buffer.getvalue()
    head = len(data) - array.nbytes
    if rng.randrange(2):  # the header, which is text
        text = data[10:head].decode("latin-1")
        changed = mutate_text(text, rng).encode("latin-1", "replace")
        size = len(changed).to_bytes(4, "little")[: 2 if data[6] == 1 else 4]
        data = data[:8] + size + changed + data[head:]
    else:
        data = mutate_bytes(data, rng)
    (place / "x.npy").write_bytes(data)
    words = ["run", _ARRAYS, "--schedule", "x.mlir", "--input", "lhs=x.npy"]
    return main([*words, "--db", "none", "--threads", "1"])


def _prepare_database(place: Path) -> None:
    filled(place / "whole.sqlite").close()
    for action in ("info", "verify", "gc"):
        quietly(main, "db", action, "--db", str(place / "whole.sqlite"))


def _run_database(place: Path, rng: random.Random) -> int:
    for name in ("x.sqlite", "x.sqlite-wal", "x.sqlite-shm"):
        (place / name).unlink(missing_ok=True)
    data = (place / "whole.sqlite").read_bytes()
    (place / "x.sqlite").write_bytes(mutate_bytes(data, rng))
    action = rng.choice(("info", "verify", "gc", "export", "merge", "search"))
    if action == "search":
        words = ["emit", "move:7x9:f32", "--stage", "schedule", "-o", "/dev/null"]
        return main([*words, "--db", "x.sqlite"])
    if action == "merge":
        shutil.copy(place / "whole.sqlite", place / "y.sqlite")
        return main(["db", "merge", "x.sqlite", "--db", "y.sqlite"])
    (place / "new.sqlite").unlink(missing_ok=True)
    file = ["new.sqlite"] if action == "export" else []
    return main(["db", action, *file, "--db", "x.sqlite"])


INPUTS = {
    "mutated_mlir": Inputs(_prepare_mlir, _run_mlir),
    "mutated_flags": Inputs(_prepare_mlir, _run_flags),
    "mutated_specs": Inputs(_prepare_specs, _run_spec),
    "mutated_targets": Inputs(_prepare_targets, _run_target),
    "mutated_schedules": Inputs(_prepare_schedules, _run_schedule),
    "mutated_arrays": Inputs(_prepare_arrays, _run_array),
    "mutated_databases": Inputs(_prepare_database, _run_database),
}
"""By the name of the soak."""
