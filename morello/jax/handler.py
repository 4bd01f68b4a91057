"""The function that XLA calls for a kernel, and the data that it reads.

``c/xla.c`` of the runtime has its code, which is that of all kernels. XLA hands it
nothing that says which kernel is meant, so each has a few instructions of its own that
add the kernel's data.
"""

import ctypes
import functools
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.runtime.calls.call_size import call_sizes
from morello.runtime.calls.call_table import ANY_SIZE, CallTable
from morello.runtime.calls.glue import FOLDER, call_code, check_sizes, code, loaded
from morello.runtime.calls.parameter import Parameter
from morello.runtime.element_types import element_type_of, names
from morello.runtime.engine import Engine


class Handled(ctypes.Structure):
    """An argument or a result of a kernel that XLA calls, as ``c/xla.c`` has it."""

    _fields_ = (
        ("dtype", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("shapes", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("result", ctypes.c_int64),
        ("itemsize", ctypes.c_int64),
    )


class Handler(ctypes.Structure):
    """A kernel that XLA calls, before its arguments and results."""

    _fields_ = (
        ("table", ctypes.c_void_p),
        ("run", ctypes.c_void_p),
        ("arguments", ctypes.c_int64),
        ("results", ctypes.c_int64),
        ("message", ctypes.c_char_p),
        ("sizes", ctypes.c_char_p),
        ("no_memory", ctypes.c_char_p),
    )


def wanted(parameter: Parameter, label: str) -> str:
    """A description of the argument that a parameter takes, for error messages."""
    shapes = " or ".join(str(_named(parameter, shape)) for shape in parameter.shapes)
    every = (f", {axis.name} from {axis}" for axis in parameter.sizes)
    return (
        f"{parameter.role} of {label} is a {parameter.dtype.name} array of "
        f"{shapes}{''.join(every)}"
    )


def _named(parameter: Parameter, shape: tuple[int, ...]) -> str:
    """A shape with the names of the sizes that each call says."""
    names = {axis.number: axis.name for axis in parameter.sizes}
    places = parameter.places_in(shape)
    parts = [names[places[i]] if i in places else str(n) for i, n in enumerate(shape)]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def handler(table: CallTable, label: str) -> Any:
    """The function that XLA calls, which must be kept as long as XLA may call it.

    Its arguments are the inputs, then the former values of the outputs that are added
    to; its results are the outputs.

    Args:
        table: of the native function; its arrays have no gaps.
        label: of the kernel, for errors.

    Raises:
        CompileError: XLA has no elements as those of a parameter.
    """
    data = _data(table, label)
    engine = loaded((FOLDER / "handler.ll").read_text())
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    attach = kind(engine.address("attach"))
    attach(_code().address("handle"), ctypes.addressof(data))
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    function_of_xla: Any = function(engine.address("handler"))
    function_of_xla.held = table, data, engine
    return function_of_xla


@functools.cache
def _code() -> Engine:
    engine = code("xla")
    kind = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_int64))
    check_sizes(kind(engine.address("sizes"))()[:2], Handler, Handled)
    return engine


def _data(table: CallTable, label: str) -> Any:
    inputs = [p for p in table.parameters if not p.is_output]
    outputs = [p for p in table.parameters if p.is_output]
    former = [p for p in outputs if p.accumulates]
    all_of_them = (*inputs, *former, *outputs)

    class Data(ctypes.Structure):
        _fields_ = (("head", Handler), ("handled", Handled * len(all_of_them)))

    arguments = len(inputs) + len(former)
    message = f"morello: {label} takes {arguments} arrays and fills {len(outputs)}"
    no_memory = f"morello: no memory for the workspace of {label}"
    sizes = call_sizes(table.parameters)
    every = (f"{axis.name} is {axis}" for axis in (sizes.axes if sizes else ()))
    head = Handler(
        table=table.address,
        run=call_code().address("run"),
        arguments=arguments,
        results=len(outputs),
        message=message.encode(),
        sizes=f"morello: of {label} {', '.join(every)}".encode(),
        no_memory=no_memory.encode(),
    )
    shapes = [_shapes(parameter) for parameter in all_of_them]
    handled = [
        Handled(
            dtype=_dtype(parameter),
            count=len(parameter.shapes),
            shapes=words.ctypes.data,
            message=f"morello: {wanted(parameter, label)}".encode(),
            result=outputs.index(parameter) if parameter in outputs else 0,
            itemsize=parameter.dtype.itemsize,
        )
        for parameter, words in zip(all_of_them, shapes, strict=True)
    ]
    data: Any = Data(head, (Handled * len(handled))(*handled))
    data.held = head, shapes, handled
    return data


def _shapes(parameter: Parameter) -> np.ndarray[Any, Any]:
    words: list[int] = []
    for shape in parameter.shapes:
        places = parameter.places_in(shape)
        sizes = (
            ANY_SIZE - places[i] if i in places else n for i, n in enumerate(shape)
        )
        words += [len(shape), *sizes]
    return np.array(words, np.int64)


def _dtype(parameter: Parameter) -> int:
    """The number that XLA has for the elements.

    Raises:
        CompileError: XLA has none.
    """
    element = element_type_of(parameter.dtype)
    if element is None:
        raise CompileError(
            f"{parameter.role} has elements of {parameter.dtype.name}, which XLA's "
            "foreign functions do not take here",
            f"use one of {names()}",
        )
    return element.xla
