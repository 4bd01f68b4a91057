"""``morello run``: the check against the definition, arrays in files, messages."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from morello.search.queries.pins import full_text
from morello.spec import Array, Fill, Kind, Matmul
from morello.spec.checking import is_exact
from morello.spec.kinds import instances
from morello.tools.morello import main
from tests.quality.specs import small_spec
from tests.tool import Tool

MATMUL = "matmul:5x7x3:f32"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(name: str, array: Array) -> Array:
    np.save(name, array)
    return array


def normal(*shape: int) -> Array:
    values = np.random.default_rng(7).normal(size=shape)
    return values.astype(np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "spec",
    [
        MATMUL,
        "matmul:2x3x2x5:s32",
        "matmul_accum:5x7x3:f32",
        "matmul:4x3x5:f32:rhs=[0,2,1]",
        "move:7x9:f32:dst=[1,0]",
        "move:5x19:f32:dst=[0,1,1p16]",
        "move:3x4x5:u8",
        "move:6x3:bf16",
        "fill:5x3:s32:value=lowest",
        "fill:1",
        "max:13x33:f32",
        "max_accum:5x7:s32",
    ],
)
def test_random_inputs_are_exact(spec: str, tool: Tool) -> None:
    out, err = tool("run", spec, "--seed", "3")
    assert err == ""
    assert re.search(r"^result +exact: .* the definition's, bit for bit$", out, re.M)
    assert re.search(r"^spec +\w+:.* on avx2$", out, re.M)
    assert re.search(r"^kernel +found in .*, compiled in \S+ \w?s$", out, re.M)
    assert re.search(r"^threads +1 allowed, 1 used$", out, re.M)
    assert re.search(r"^cost +[\d.,]+ cycles = \S+ .?s at 3 GHz$", out, re.M)


@pytest.mark.sampled(12)
@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("kind", instances(), ids=str)
def test_every_kind_is_exact(kind: Kind, tool: Tool) -> None:
    spec = small_spec(kind)
    said = tool.out("run", full_text(spec))
    near = not is_exact(kind, spec.sizes) and "of the bound" in said
    assert near or "the definition's, bit for bit" in said


def test_seed_is_that_of_the_inputs() -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert main(["run", "move:9x9", "--seed", seed, "-o", f"{name}.npy"]) == 0
    a, b, c = (np.load(f"{name}.npy").view(np.uint32) for name in "abc")
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_given_inputs(tool: Tool) -> None:
    a, b = save("a.npy", normal(5, 7)), save("b.npy", normal(7, 3))
    flags = ["--input", "lhs=a.npy", "--input", "rhs=b.npy", "--output", "c.npy"]
    out = tool.out("run", MATMUL, *flags)
    assert re.search(r"^inputs +lhs from a.npy, rhs from b.npy$", out, re.M)
    assert re.search(r"max error \S+ against the definition in f64, 0\.\d+ of", out)
    c = np.load("c.npy")
    assert (c.shape, c.dtype) == ((5, 3), np.float32)
    assert np.abs(c - a.astype(np.float64) @ b).max() < 1e-5


def test_batch_is_kept_as_it_came() -> None:
    save("a.npy", normal(1, 5, 7))
    assert main(["run", MATMUL, "--input", "lhs=a.npy", "-o", "c.npy"]) == 0
    assert np.load("c.npy").shape == (1, 5, 3)
    assert main(["run", MATMUL, "-o", "d.npy"]) == 0
    assert np.load("d.npy").shape == (5, 3)


def test_initial_output(tool: Tool) -> None:
    initial = save("c.npy", np.full((5, 3), 1000, np.float32))
    flags = ["--input", "out=c.npy", "--output", "sum.npy"]
    assert "lhs random (seed 0), rhs random (seed 0), out from c.npy" in (
        tool.out("run", "matmul_accum:5x7x3:f32", *flags)
    )
    assert np.abs(np.load("sum.npy") - initial).max() <= 7 * 16


def test_layouts_of_files_are_logical() -> None:
    a = save("a.npy", np.asfortranarray(normal(5, 19)))
    for layouts in ("dst=[0,1,1p16]", "src=[1,0]", "src=[0,1,1oe8]:dst=[0,1]"):
        flags = ["--input", "src=a.npy", "--output", "b.npy"]
        assert main(["run", f"move:5x19:f32:{layouts}", *flags]) == 0
        assert np.array_equal(np.load("b.npy"), a)


def test_bf16_files() -> None:
    a = save("a.npy", normal(3, 5).astype(ml_dtypes.bfloat16))
    flags = ["--input", "src=a.npy", "--output", "b.npy"]
    assert main(["run", "move:3x5:bf16", *flags]) == 0
    assert np.load("b.npy").tobytes() == a.tobytes()


def test_output_on_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["run", "fill:2x3:s32", "--output", "-"]) == 0
    out, err = capfdbinary.readouterr()
    Path("got.npy").write_bytes(out)
    assert np.array_equal(np.load("got.npy"), np.zeros((2, 3), np.int32))
    assert err.startswith(b"spec ")


def test_given_schedule(tool: Tool) -> None:
    flags = ["--stage", "schedule", "-o", "max.mlir"]
    assert main(["emit", "max:5x7:f32", *flags]) == 0
    assert "kernel   from the given schedule, compiled in" in tool.out(
        "run", "max:5x7:f32", "--schedule", "max.mlir"
    )
    assert "the schedule is for another Spec than max:5x8" in tool.err(
        "run", "max:5x8:f32", "--schedule", "max.mlir"
    )


def test_schedule_that_is_not_mlir(tool: Tool) -> None:
    Path("x.mlir").write_text("tile it well\n")
    err = tool.err("run", "fill:3", "--schedule", "x.mlir")
    assert (
        "the schedule is not a module of MLIR: x.mlir:1:1: custom op 'tile' is" in err
    )


@pytest.mark.parametrize("command", [["run"], ["emit", "--stage", "mlir"]])
def test_schedule_that_does_not_apply(command: list[str], tool: Tool) -> None:
    assert main(["emit", "fill:4", "--stage", "schedule", "-o", "x.mlir"]) == 0
    text = Path("x.mlir").read_text().replace("fill_rows", "scalar")
    Path("x.mlir").write_text(text)
    line = next(i for i, s in enumerate(text.splitlines(), 1) if '"scalar"' in s)
    err = tool.err(*command, "fill:4", "--schedule", "x.mlir")
    assert err.startswith(f"morello: error: x.mlir:{line}:")
    assert "kernel 'scalar' does not implement" in err


BAD_FILES = {
    "float64": "has dtype float64, not float32; convert it, e.g. array.astype(",
    "swapped": "has dtype float32 of the other byte order, not float32",
    "long": "has shape (5, 8), not (1, 5, 7) or (5, 7); give the array in the order",
    "empty": "is not a .npy file of numbers: EOF: reading magic string",
    "text": "is not a .npy file of numbers: the magic string is not correct",
    "objects": "has dtype object, not float32",
    "cut": "is not a .npy file of numbers: it ends after 131 of 140 bytes",
    "zip": "is not a .npy file of numbers: the magic string is not correct",
    "huge": "has shape (9999999999999, 7), not ",
}


def write_bad(kind: str) -> None:
    good = normal(5, 7)
    match kind:
        case "float64":
            save("x.npy", good.astype(np.float64))
        case "swapped":
            save("x.npy", good.astype(">f4"))
        case "long":
            save("x.npy", normal(5, 8))
        case "empty" | "text":
            Path("x.npy").write_text("" if kind == "empty" else "1 2 3 4 5 6 7\n")
        case "objects":
            np.save("x.npy", np.array([None, {}]), allow_pickle=True)
        case "cut":
            save("x.npy", good)
            Path("x.npy").write_bytes(Path("x.npy").read_bytes()[:-9])
        case "zip":
            np.savez("x.npz", a=good)
            Path("x.npz").rename("x.npy")
        case "huge":
            save("x.npy", good)
            data = Path("x.npy").read_bytes().replace(b"(5, 7)", b"(9999999999999, 7)")
            Path("x.npy").write_bytes(data)


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_file(kind: str, tool: Tool) -> None:
    write_bad(kind)
    out, err = tool("run", MATMUL, "--input", "lhs=x.npy", "-o", "c.npy", code=1)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("morello: error: input 'lhs': x.npy ")
    assert BAD_FILES[kind] in err
    assert not Path("c.npy").exists()


def test_operand_twice(tool: Tool) -> None:
    save("a.npy", normal(5, 7))
    flags = ["--input", "lhs=a.npy", "--input", "lhs=a.npy"]
    err = tool.err("run", MATMUL, *flags)
    assert err == "morello: error: --input lhs=a.npy: 'lhs' is given twice\n"


def test_unknown_operand(tool: Tool) -> None:
    expected = "matmul reads no operand 'a'; it reads: lhs, rhs"
    assert expected in tool.err("run", MATMUL, "--input", "a=a.npy")


def test_wrong_output_is_refused(monkeypatch: pytest.MonkeyPatch, tool: Tool) -> None:
    monkeypatch.setattr(Fill, "evaluate", lambda *_: np.float32(1))
    out, err = tool("run", "fill:2x3", "--output", "c.npy", code=1)
    assert out == ""
    assert err == (
        "morello: error: the kernel of fill:2x3:f32 is wrong: 6 of 6 elements are not "
        "the definition's; out[0, 0] is 0.0, the definition has 1.0; please report it "
        "with the schedule that 'morello emit' prints\n"
    )
    assert not Path("c.npy").exists()


def test_wrong_rounding_is_refused(monkeypatch: pytest.MonkeyPatch, tool: Tool) -> None:
    plain = Matmul.evaluate
    monkeypatch.setattr(
        Matmul, "evaluate", lambda *args: np.nextafter(plain(*args), np.float32(9))
    )
    assert "elements are not the definition's; out[0, 0, 0]" in tool.err("run", MATMUL)


def npy_header(shape: object = (5, 7), descr: object = "<f4") -> str:
    """What numpy writes before an array."""
    return repr({"descr": descr, "fortran_order": False, "shape": shape})


HEADERS = {
    "an open bracket": npy_header()[:-2],
    "deep": "(" * 4000 + ")" * 4000,
    "a sum": npy_header().replace("7", "1+6"),
    "long numbers": npy_header((10**4000,)),
    "numbers below 0": npy_header((-5, -7)),
    "true": npy_header((True, 35)),
    "many dimensions": npy_header((1,) * 2000),
    "no dtype": npy_header(descr="<f4,<"),
    "a dtype of parts": npy_header((5,), [("", "<f4")]),
    "an empty dtype": npy_header(descr=[]),
    "a dtype of a tuple": npy_header(descr=("<f4",)),
    "a list": "[]",
    "no keys": "{}",
    "no text": "\x00\x1b[31m",
    "python 2": npy_header()[:-2].replace("5", "5L"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_numpy_does_not_write(name: str, tool: Tool) -> None:
    header = HEADERS[name].encode() + b"\n"
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    Path("x.npy").write_bytes(head + header + bytes(140))
    out, err = tool("run", MATMUL, "--input", "lhs=x.npy", code=1)
    assert out == ""
    assert err.startswith("morello: error: input 'lhs': x.npy ")
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert len(err) < 2000


def test_a_format_for_names_of_fields(tool: Tool) -> None:
    Path("x.npy").write_bytes(b"\x93NUMPY\x03\x00\x00\x00\x00\x00")
    assert "is not a .npy file of numbers: its format is version 3.0" in (
        tool.err("run", MATMUL, "--input", "lhs=x.npy")
    )
