"""The arguments and the results of a function, as tensors of memory."""

import dataclasses

from morello.frontends.linalg.imported_values import ImportedValues
from morello.frontends.linalg.signature import unique_name
from morello.frontends.linalg.types import array_type, has_no_elements, shape_of
from morello.frontends.linalg.values import Read, Same
from morello.frontends.nodes.tensors import Joined, Source, identity_axes
from morello.frontends.plain.fallback import Fallback
from morello.frontends.plain.outlining import element_of
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.dtypes import Dtype


def add_argument(
    importer: ImportedValues, fallback: Fallback, argument: ir.BlockArgument
) -> None:
    """Add an argument to the tensors, or refuse it if somebody reads it.

    One without elements is known.
    """
    tensors, number = importer.tensors, argument.arg_number
    declared = importer.signature.argument(number)
    name = unique_name(declared.name, f"arg{number}", tensors.names)
    tensors.names.append(name)
    if has_no_elements(argument.type):
        element = element_of(argument.type)
        if element is not None:
            shape = shape_of(argument)
            tensors.add(Source(name, shape, declared.element(element), number))
            importer.known[argument] = Same(0, shape)
            return
    try:
        shape, dtype = array_type(argument.type, name)
    except OpError as error:
        element = fallback.element(argument.type)
        if element is not None:
            element = declared.element(element)
            source = Source(name, shape_of(argument), element, number)
            fallback.define(argument, tensors.add(source), element)
            return
        importer.known[argument] = None
        if next(iter(argument.uses), None) is not None or number == 0:
            importer.refuse(importer.function, error)
        return
    importer.define(argument, tensors.add(Source(name, shape, dtype, number)))


def add_results(importer: ImportedValues, fallback: Fallback, op: ir.Operation) -> None:
    """Add what a function returns to the results.

    Args:
        op: its ``func.return``.

    Raises:
        OpError: no kernel gives such an array.
    """
    for number, value in enumerate(op.operands):
        if importer.known[value] is None or fallback.returns(op, value):
            continue
        element = element_of(value.type) if has_no_elements(value.type) else None
        if isinstance(element, Dtype):  # nobody writes it
            empty = importer.tensors.add(Joined(shape_of(value), element))
            importer.tensors.results.append(empty)
            continue
        shape, dtype = array_type(value.type, f"result {number}")
        result = importer.get(value)
        if isinstance(result, Same):
            result = importer.spread(result)
        tensor = importer.materialized(result, importer.place(op))
        importer.tensors.results.append(
            _result_tensor(importer, op, tensor, (shape, dtype))
        )


def _result_tensor(
    importer: ImportedValues,
    op: ir.Operation,
    tensor: int,
    kind: tuple[tuple[int, ...], Dtype],
) -> int:
    """The tensor of a result, copied where it is an argument or another result too:
    each result has memory of its own."""
    shape, dtype = kind
    tensors = importer.tensors
    root = tensors.root(tensor)
    is_taken = root in {tensors.root(result) for result in tensors.results}
    is_source = isinstance(tensors.all[root], Source)
    if not is_source and not is_taken and tensors.dtype(root) is dtype:
        return tensor
    copied = importer.copy(
        Read(tensor, identity_axes(shape), shape), importer.place(op)
    )
    return tensors.add(dataclasses.replace(copied, dtype=dtype))
