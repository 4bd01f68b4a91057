"""How a value of each type is written as an attribute, and read back.

| type | attribute |
|---|---|
| ``str`` | ``dim = "m"`` |
| ``bool`` | ``accum = true`` |
| ``int`` | ``size = 48`` |
| ``tuple[int, ...]`` | ``steps = array<i64: 1, 2>`` |
| `Memory` | ``level = "L1"`` |
| `Graph` | ``graph = {inputs = [affine_map<(d0) -> (d0)>], nodes = […]}`` |
| `Layout` | ``layout = #morello.layout<"[0,2,1]">`` |
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.dialect.attributes import (
    bool_of,
    i64_attr,
    int_of,
    ints_of,
    layout_attr,
    layout_of,
    string_of,
)
from morello.dialect.graph_form import EXAMPLE, read_graph, write_graph
from morello.mlir import ir
from morello.spec import Layout, Memory
from morello.spec.graphs.graph import Graph


@dataclasses.dataclass(frozen=True)
class ValueForm:
    """How values of one type are written.

    Args:
        constraint: the class of the attribute, as the bindings check it.
        write: from the value to the attribute, in the current context.
        read: from the attribute, and a name for errors, to the value; `SpecError`.
        example: as it is written.
    """

    constraint: Any
    write: Callable[[Any], ir.Attribute]
    read: Callable[[ir.Attribute, str], Any]
    example: str


FORMS: dict[Any, ValueForm] = {
    str: ValueForm(ir.StringAttr, ir.StringAttr.get, string_of, '"m"'),
    bool: ValueForm(ir.IntegerAttr, ir.BoolAttr.get, bool_of, "true"),
    int: ValueForm(ir.IntegerAttr, i64_attr, int_of, "48"),
    tuple[int, ...]: ValueForm(
        Any,  # the bindings name no class for it
        lambda values: ir.DenseI64ArrayAttr.get(list(values)),
        ints_of,
        "array<i64: 1, 2>",
    ),
    Memory: ValueForm(
        ir.StringAttr,
        lambda level: ir.StringAttr.get(str(level)),
        lambda attr, what: Memory.parse(string_of(attr, what)),
        '"L1"',
    ),
    Graph: ValueForm(ir.DictAttr, write_graph, read_graph, EXAMPLE),
    Layout: ValueForm(
        Any,  # a constraint cannot name an attribute of another dialect
        layout_attr,
        lambda attr, what: layout_of(attr),
        '#morello.layout<"[0,2,1]">',
    ),
}
"""By the type of the value."""
