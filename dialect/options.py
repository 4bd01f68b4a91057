"""The options of a kind as attributes of its ops, and back.

An option is a field of the kind, but the rank, which follows from the sizes. One with
``metadata={"optional": True}`` may be left out where it is the default.
"""

import dataclasses
from typing import Any

from morello.dialect.value_forms import FORMS, ValueForm
from morello.mlir import ir
from morello.spec import Kind
from morello.spec.text.spellings import text_options


def option_forms(kind_class: type[Kind]) -> dict[str, ValueForm]:
    """How each option of a kind is written."""
    fields = dataclasses.fields(kind_class)
    return {field.name: FORMS[field.type] for field in fields if field.name != "rank"}


def optional_options(kind_class: type[Kind]) -> frozenset[str]:
    """The options whose attributes may be left out, if the default."""
    fields = dataclasses.fields(kind_class)
    return frozenset(field.name for field in fields if field.metadata.get("optional"))


def option_constraints(kind_class: type[Kind]) -> dict[str, Any]:
    """Constraints that the op declares for each required option: the bindings do not
    support optional attributes."""
    optional = optional_options(kind_class)
    forms = option_forms(kind_class)
    return {n: form.constraint for n, form in forms.items() if n not in optional}


def make_kind(
    kind_class: type[Kind], rank: int, options: dict[str, ir.Attribute]
) -> Kind:
    """The kind with the options that attributes give it.

    Raises:
        SpecError: an option has another type, or a value that the kind does not have.
    """
    forms = option_forms(kind_class)
    values: dict[str, Any] = {
        name: forms[name].read(attribute, f"'{name}'")
        for name, attribute in options.items()
    }
    if any(field.name == "rank" for field in dataclasses.fields(kind_class)):
        values["rank"] = rank
    return kind_class(**values)


def option_attributes(kind: Kind) -> dict[str, ir.Attribute]:
    """The options of a kind as attributes of the current context."""
    optional = optional_options(type(kind))
    return {
        name: form.write(getattr(kind, name))
        for name, form in option_forms(type(kind)).items()
        if name not in optional or name in text_options(kind)
    }
