"""ONNX's backend tests: of nodes, of simple graphs, and those made from PyTorch."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

import morello
from tests.conformance.onnx_parameters import arguments_of, frozen, names_of_parameters
from tests.conformance.outcomes import (
    NO_TIME,
    PASSED,
    REFUSED,
    SKIPPED,
    Outcome,
    Row,
    checked_call,
    difference,
)
from tests.conformance.suite import Settings

_KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
_INTEGERS = {"bool", "int4", "int8", "int16", "int32", "int64"}

# Tests whose expected results are not those of the operator's definition.
_ROUNDED = "it expects 1.9e-7, a sum that was rounded, where the sum is 0"
_DISPUTED = {
    "test_dft_inverse": _ROUNDED,
    "test_dft_inverse_opset19": _ROUNDED,
    "test_resize_downsample_scales_cubic_align_corners": (
        "it expects 2.395 where the size of the result, 3, gives 2.5"
    ),
    "test_resize_downsample_scales_linear_align_corners": (
        "it expects 3.14 where the last pixel is the input's, 4"
    ),
}


def create(settings: Settings) -> "OnnxSuite":
    """The suite of ONNX."""
    return OnnxSuite(settings)


class OnnxSuite:
    """Models with inputs and outputs. Each is tried as the suite has it; if refused,
    with its parameters as initializers; if it still is, with fallback."""

    attempts = ("as given", "parameters as initializers", "with fallback")

    def __init__(self, settings: Settings) -> None:
        warnings.simplefilter("ignore")  # the suite itself overflows, and divides by 0
        self._time_limit = settings.time_limit
        self._tests: dict[str, TestCase] = {
            f"{kind}:{test.name}": test
            for kind in _KINDS
            for test in load_model_tests(kind=kind)
        }

    def kinds(self) -> dict[str, str]:
        """The op of each test, or what it has of ops."""
        return {name: _ops(name, test) for name, test in self._tests.items()}

    def prepare(self, names: Sequence[str]) -> None:
        """Compile a model of one node."""
        text = '<ir_version: 8, opset_import: ["" : 20]> warm (float[3,4] x) '
        model = onnx.parser.parse_model(text + "=> (float[3,4] y) { y = Relu(x) }")
        data = model.SerializeToString()
        morello.from_onnx(data, fallback=True).compile(threads=1)

    def rows(self, name: str) -> list[Row]:
        """The outcomes of the first set of data that does not pass as it is."""
        test = self._tests[name]
        model = _model(test)
        dtypes = _dtypes(model)
        groups = _groups(name, model, dtypes)
        row = Row(
            name, {}, groups, {"op": _ops(name, test), "dtypes": "+".join(dtypes)}
        )
        note = _DISPUTED.get(test.name, "")
        if not groups:
            note = "strings, sequences and optionals are no tensors of numbers"
        if note:
            row.outcomes[self.attempts[0]] = Outcome(SKIPPED, note)
            return [row]
        for inputs, expected in _data_sets(test):
            row.outcomes = self._tried(test, model, inputs, expected, dtypes)
            if next(iter(row.outcomes.values())).verdict != PASSED:
                break
        return [row]

    def _tried(
        self,
        test: TestCase,
        model: onnx.ModelProto,
        inputs: list[object],
        expected: list[np.ndarray],
        dtypes: list[str],
    ) -> dict[str, Outcome]:
        as_given, initializers, fallback = self.attempts
        outcomes = {as_given: self._outcome(test, model, inputs, expected, False)}
        if not _refused(outcomes[as_given]):
            return outcomes
        changed, left = frozen(model, inputs)
        if len(left) < len(inputs) and any("float" in dtype for dtype in dtypes):
            outcome = self._outcome(test, changed, left, expected, False)
            outcomes[initializers] = outcome
        if all(map(_refused, outcomes.values())):
            outcome = self._outcome(test, changed, left, expected, True)
            outcomes[fallback] = outcome
        return outcomes

    def _outcome(
        self,
        test: TestCase,
        model: onnx.ModelProto,
        inputs: Sequence[object],
        expected: Sequence[np.ndarray],
        fallback: bool,
    ) -> Outcome:
        data = model.SerializeToString()
        shapes = _unknown_shapes(model, inputs)
        return checked_call(
            lambda: morello.from_onnx(data, shapes=shapes, fallback=fallback).compile(
                threads=1, time_limit=self._time_limit
            ),
            inputs,
            expected,
            lambda result, right: difference(result, right, test.rtol, test.atol),
        )


def _refused(outcome: Outcome) -> bool:
    return outcome.verdict in (REFUSED, NO_TIME)


def _unknown_shapes(
    model: onnx.ModelProto, inputs: Sequence[object]
) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs whose sizes the model leaves open."""
    return {
        argument.name: np.shape(value)
        for argument, value in zip(arguments_of(model), inputs, strict=False)
        if any(
            not size.HasField("dim_value")
            for size in argument.type.tensor_type.shape.dim
        )
    }


def _model(test: TestCase) -> onnx.ModelProto:
    return test.model or onnx.load(Path(test.model_dir) / "model.onnx")


def _data_sets(test: TestCase) -> list[tuple[list[object], list[np.ndarray]]]:
    """Inputs and outputs of each call."""
    if test.data_sets:
        return [
            (_arrays(inputs), _arrays(outputs)) for inputs, outputs in test.data_sets
        ]
    folders = sorted(Path(test.model_dir).glob("test_data_set_*"))
    return [
        (_tensors(folder, "input"), _tensors(folder, "output")) for folder in folders
    ]


def _arrays(values: Sequence[object]) -> list:
    return [_array(value) for value in values]


def _array(value: object) -> object:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _tensors(folder: Path, kind: str) -> list[np.ndarray]:
    """Tensors of the files kind_0.pb, kind_1.pb and so on."""
    paths = [
        folder / f"{kind}_{n}.pb" for n in range(len(list(folder.glob(f"{kind}_*.pb"))))
    ]
    return [numpy_helper.to_array(onnx.load_tensor(path)) for path in paths]


def _ops(name: str, test: TestCase) -> str:
    """The op, several with "+" between them, or the function that was expanded."""
    if "_expanded" in name:
        return name.split(":test_")[1].split("_expanded")[0].split("_")[0]
    ops = dict.fromkeys(node.op_type for node in _model(test).graph.node)
    return "+".join(ops)[:60]


def _dtypes(model: onnx.ModelProto) -> list[str]:
    """Names of the dtypes of arguments and results, but for integer parameters, which
    are no data; "other" for what is no tensor."""
    parameters = names_of_parameters(model)
    data, rest = set[str](), set[str]()
    for value in [*arguments_of(model), *model.graph.output]:
        if not value.type.HasField("tensor_type"):
            return ["other"]
        code = value.type.tensor_type.elem_type
        name = onnx.TensorProto.DataType.Name(code).lower()
        (rest if value.name in parameters and name != "float" else data).add(name)
    return sorted(data or rest)


def _groups(name: str, model: onnx.ModelProto, dtypes: list[str]) -> tuple[str, ...]:
    """The groups whose rates a test counts for; none if it is not of numbers."""
    kinds = set(dtypes)
    if kinds & {"string", "other"}:
        return ()
    if kinds == {"float"}:
        kind = name.split(":")[0]
        if kind == "node":
            standard = not any(node.domain for node in model.graph.node)
            kind = "node" if standard else "node of another domain"
            kind += ", expanded" if "_expanded" in name else ""
        return ("f32", f"f32: {kind}")
    if any(dtype.startswith("uint") for dtype in kinds):
        return ("unsigned integers in it",)
    if kinds <= _INTEGERS:
        return ("bool and signed integers alone",)
    if kinds & {"float16", "bfloat16"}:
        return ("f16 or bf16 in it",)
    return (
        ("f32 and integers or bool",)
        if kinds <= {"float"} | _INTEGERS
        else ("other dtypes",)
    )
