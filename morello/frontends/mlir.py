"""Programs of MLIR, as text or bytes: `from_mlir`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from morello.errors import CompileError, FileError, is_file_name
from morello.frontends.dry_run import check_survival
from morello.frontends.model import Model, trusted_model
from morello.frontends.ranged import one_range, ranged
from morello.processes.small_stacks import on_large_stack


@on_large_stack
def from_mlir(
    text: str | bytes | Path,
    *,
    name: str | None = None,
    source: str = "model",
    fallback: bool = False,
    ranges: Mapping[str, str] | None = None,
    flushing: bool = False,
) -> Model:
    """A program of linalg on tensors or StableHLO as parts, each of which is a Spec.

    What is computed of constants alone is computed here. `morello.compile` makes a
    kernel of the result, `Model.evaluate` computes its definition in NumPy.

    Args:
        text: a module as text; its bytecode; a portable artifact of StableHLO; or the
            path of a file with one of these.
        name: of the function; if it is left out, the only public one, or ``main``.
        source: what messages call the text.
        fallback: leave heavy ops that are no Spec to upstream's plain lowering, too:
            loops over elements, which are slow. Ops of linear work are left to it
            anyway. `Model.fallback` lists all of these. Arguments and results may be
            integers, truth values and other floats, too.
        ranges: the sizes that calls may say of the dimensions which the text leaves
            open, one of an argument, by a name for messages: ``{"rows": "1..64"}``.
        flushing: let products of two matrices of bf16 take denormals for zero, as
            processors with instructions for bf16 do: each is a
            ``matmul:…:bf16,bf16,f32:flushing=true`` by itself.

    Raises:
        CompileError: it is no module, has no such function, or crashes MLIR.
        ModelError: heavy ops that have no Spec, and what plain lowering does not take:
            all of them, each with its place; or what depends on the size of a range in
            another way than by how long dimensions are.
        SpecError: a range has no sizes.
        FileError: the file cannot be read.
    """
    program: Any = text
    if isinstance(text, str) and is_file_name(text):
        raise CompileError(
            f"the program is '{text}', the name of a file", f"give Path('{text}')"
        )
    if isinstance(text, Path):
        source = text.name
        try:
            program = text.read_bytes()
        except OSError as error:
            raise FileError(
                f"cannot read '{text}': {error.strerror}", "give the path of a file"
            ) from error

    def read(size: int | None = None) -> Model:
        def model() -> Model:
            return trusted_model(
                *(program, name, source),
                fallback=fallback,
                size=size,
                flushing=flushing,
            )

        check_survival(model, source)
        return model()

    if not ranges:
        return read()
    size, sizes = one_range(ranges)
    return ranged(read, sizes, size)
