"""Small models of ONNX, and the programs in `programs/`, as Specs: those of
each, as `str` shows a model.

Run it as ``python -m tests.frontends.listing`` to write the list anew.
"""

from pathlib import Path
from typing import Any

import onnx

import morello
from morello.frontends.model import Model
from tests.frontends.definitions import PROGRAMS
from tests.tables import rows

FILE = Path(__file__).with_suffix(".txt")

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g '

MODELS = dict(rows(__file__, "small_models"))
"""Graphs in ONNX's text, by name."""


def read(name: str) -> tuple[Any, Model]:
    """A model as ONNX has it, and as it was read."""
    proto = onnx.parser.parse_model(HEAD + MODELS[name])
    return proto, morello.from_onnx(proto.SerializeToString())


def programs() -> dict[str, Model]:
    """The programs in MLIR, by their files."""
    files = sorted(PROGRAMS.glob("*/*.mlir"))
    return {str(f.relative_to(PROGRAMS)): morello.from_mlir(f) for f in files}


def listing(models: dict[str, Model]) -> str:
    """The list of some models."""
    return "\n".join(f"# {name}\n{model}\n" for name, model in models.items())


if __name__ == "__main__":
    FILE.write_text(listing({name: read(name)[1] for name in MODELS} | programs()))
