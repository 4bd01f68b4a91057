"""`morello-lower-kernels` checks what the verifier checks: ops can be unverified."""

import pytest

from morello.dialect import load
from morello.dialect.build import build_kernel_op
from morello.dialect.memrefs import whole_type
from morello.mlir import dialect, ir
from morello.passes.base import PassFailure
from morello.passes.lower_kernels import LowerKernels
from morello.spec import Move, Spec
from tests.kernels.harness import spec

pytestmark = pytest.mark.quick


def lowered(name: str, spec: Spec) -> str:
    """A function with one kernel op that nobody has verified, after the pass."""
    with ir.Context() as context:
        load(context)
        with ir.Location.unknown():
            module = ir.Module.create()
            kinds = [whole_type(t, spec.shape(i)) for i, t in enumerate(spec.tensors)]
            with ir.InsertionPoint(module.body):
                entry = dialect("func").FuncOp("f", (kinds, [])).add_entry_block()
            with ir.InsertionPoint(entry):
                build_kernel_op(name, spec, list(entry.arguments))
                dialect("func").ReturnOp([])
        LowerKernels().run(module.operation)
        assert module.operation.verify()
        return str(module)


def test_the_op_is_replaced_by_code() -> None:
    text = lowered("copy_rows", spec(Move(2), (1, 8), "f32@L1[0,1]", "f32@L1[0,1]"))
    assert "morello.kernel" not in text
    assert "vector.load" in text
    assert "vector.store" in text


@pytest.mark.parametrize(
    ("name", "sizes", "dst", "message"),
    [
        ("move_magic", (4, 8), "[1,0]", "no kernel is called 'move_magic'; use one of"),
        (
            "copy_rows",
            (4, 8),
            "[1,0]",
            "levels or layouts are not its own; use transpose",
        ),
        ("transpose", (4, 9), "[1,0]", "it takes a block of at most 8 x 8: tile"),
        ("transpose", (4, 9), "[1,0]", "no kernel takes it: tile or move"),
        ("scalar", (4, 8), "[0,1]", "tile every dimension to 1; use copy_rows"),
    ],
)
def test_operands_that_do_not_fit_are_refused_with_what_would(
    name: str, sizes: tuple[int, int], dst: str, message: str
) -> None:
    goal = spec(Move(2), sizes, "f32@L1[0,1]", f"f32@L1{dst}")
    with pytest.raises(PassFailure) as caught:
        lowered(name, goal)
    assert message in str(caught.value)
