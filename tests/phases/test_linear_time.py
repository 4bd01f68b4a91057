"""Readers take time that is linear in what they read."""

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from morello.compiler.schedule_reader import named_target_in
from morello.errors import MorelloError
from morello.frontends.linalg.types import resources_of
from morello.frontends.model import trusted_model
from morello.machine import AVX2, find_target
from morello.passes.pipelines.text import parse_elements
from morello.search.storage.database import Database
from morello.search.storage.schema import ProgramRow
from morello.search.storage.transfer import copy_rows
from morello.spec import parse_spec
from morello.spec.graphs.text import parse_graph
from morello.tools.array_files import read_operand
from morello.tools.braces import expand_braces
from morello.tools.flags import target_names
from morello.tools.opt.expectations import verify
from morello.tools.opt.mlir_reproducer import held_pipeline
from morello.tools.opt.split_input import near_misses, split_input
from tests.phases.linear import check_linear
from tests.phases.programs import constant, layers

_RESOURCES = {
    "none": 'dense<"0x{}">',
    "one": '{{-# dialect_resources: {{ builtin: {{ r: "0x{}" }} }} #-}}',
    "another": '{{-# external_resources: {{ own: {{ a: "{}" }} }} #-}}',
}


@pytest.mark.parametrize("form", _RESOURCES)
def test_resources(form: str) -> None:
    def step(size: int) -> Callable[[], object]:
        text = _RESOURCES[form].format("AB" * size)
        return lambda: resources_of(text)

    check_linear(step, 4000)


@pytest.mark.quick
def test_resources_are_found_by_name() -> None:
    text = '{-# dialect_resources: { builtin: { r: "0x01", "a b": "0x0203" } } #-}'
    assert resources_of(text) == {"r": "01", "a b": "0203"}
    assert resources_of('dense<"0xAB"> r: "0x01"') == {}


def _mark(text: str) -> str:
    """The text with the marker of pieces for each two characters."""
    return "// -----\n" * (len(text) // 2)


READERS: dict[str, Callable[[str], object]] = {
    "spec": lambda text: parse_spec(text, AVX2.limits),
    "sizes": lambda text: parse_spec(f"matmul:{text}", AVX2.limits),
    "form": lambda text: parse_spec(f"matmul:4x4x4:f32:rhs={text}", AVX2.limits),
    "graph": parse_graph,
    "expression": lambda text: parse_graph(f"out v0[d0]=sum({text}"),
    "target": lambda text: find_target(f"avx2{{{text}}}"),
    "targets": target_names,
    "schedule": named_target_in,
    "braces": expand_braces,
    "pieces": lambda text: split_input(_mark(text), "// -----"),
    "near misses": lambda text: [*near_misses(_mark(text), "// -----x", "file")],
    "expectation": lambda text: verify(
        [f"// expected-error-re {{{{{text}}}}}"], 1, "file", ()
    ),
    "reproducer": lambda text: held_pipeline(f"{{-# mlir_reproducer: {{{text}"),
    "pipeline": parse_elements,
    "program": trusted_model,
}
"""What reads a text."""

PIECES = [" ", "(", "{", "[", '"', '\\"', "a", "0", ",", "a,", "- ", "=", "//", "{{"]
"""What a text is made of, again and again."""


@pytest.mark.parametrize("name", READERS)
def test_a_text_of_one_piece(name: str) -> None:
    for piece in PIECES:

        def step(size: int, piece: str = piece) -> Callable[[], object]:
            text = piece * (size // len(piece))

            def read() -> None:
                with contextlib.suppress(MorelloError, argparse.ArgumentTypeError):
                    READERS[name](text)

            return read

        check_linear(step, 4000)


def test_a_program_of_many_ops() -> None:
    check_linear(lambda size: lambda: trusted_model(layers(size)), 150)


def test_a_program_with_a_large_constant() -> None:
    check_linear(lambda size: lambda: trusted_model(constant(size)), 1000)


def test_an_array_whose_header_is_long(tmp_path: Path) -> None:
    spec = parse_spec("move:2x2:f32", AVX2.limits)

    def step(size: int) -> Callable[[], object]:
        header = ("{" * size).encode()
        path = tmp_path / f"{size}.npy"
        length = len(header).to_bytes(4, "little")
        path.write_bytes(b"\x93NUMPY\x02\x00" + length + header)

        def read() -> None:
            with pytest.raises(MorelloError):
                read_operand(str(path), spec, 0)

        return read

    check_linear(step, 20_000)


def test_rows_of_a_database(tmp_path: Path) -> None:
    def step(size: int) -> Callable[[], object]:
        source, copy = (Database(tmp_path / f"{size}-{n}.sqlite") for n in "ab")
        source.put_programs(
            tuple(ProgramRow(f"fill:{n}:f32", "family", "[]") for n in range(size))
        )
        return lambda: copy_rows(source, copy)

    check_linear(step, 500)
