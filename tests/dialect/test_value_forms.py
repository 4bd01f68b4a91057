"""How values of each type stand in attributes, and what is refused as one."""

import pytest

from morello.dialect import load
from morello.dialect.value_forms import FORMS
from morello.errors import SpecError
from morello.mlir import ir
from morello.spec import L1, Layout

pytestmark = pytest.mark.quick

VALUES = {
    str: ["", "m", "d0,d1"],
    bool: [False, True],
    int: [-3, 0, 48],
    tuple[int, ...]: [(), (7,), (1, -2)],
    type(L1): [L1],
    Layout: [Layout.parse("[0,2,1,2p16]")],
}

TEXTS = {
    "true": {bool},
    "48 : i64": {int},
    "48 : i32": set(),
    "1.0 : f64": set(),
    '"48" : i64': {str},
    '"L1"': {str, type(L1)},
    "array<i64: 1, 2>": {tuple[int, ...]},
    "array<i32: 1, 2>": set(),
    "dense<[1, 2]> : tensor<2xi64>": set(),
    "[1, 2]": set(),
    '#morello.layout<"[0,2,1]">': {Layout},
    '#morello.limits<"vrf=16,l1=512,l2=8192">': set(),
    "unit": set(),
    "i64": set(),
}
"""Attributes, and the types that each of them is a value of."""


@pytest.mark.parametrize("form", VALUES, ids=str)
def test_values_are_read_as_they_are_written(form: type) -> None:
    with ir.Context() as context:
        load(context)
        for value in VALUES[form]:
            written = FORMS[form].write(value)
            assert FORMS[form].read(written, "it") == value
            assert FORMS[form].read(ir.Attribute.parse(str(written)), "it") == value


@pytest.mark.parametrize("text", TEXTS)
def test_other_attributes_are_refused_as_they_stand(text: str) -> None:
    with ir.Context() as context:
        load(context)
        attribute = ir.Attribute.parse(text)
        for form in VALUES:
            if form in TEXTS[text]:
                FORMS[form].read(attribute, "it")
            elif form is type(L1) and str in TEXTS[text]:
                with pytest.raises(SpecError, match="level"):
                    FORMS[form].read(attribute, "it")
            else:
                with pytest.raises(SpecError) as caught:
                    FORMS[form].read(attribute, "it")
                assert f"'{attribute}'" in str(caught.value)
