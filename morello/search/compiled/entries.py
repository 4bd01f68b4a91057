"""Entries: what numba compiles, as an object file that needs no numba any more.

A function of this package takes arrays. Its entry takes their addresses and lengths
instead, so that anyone can call it. Nothing here raises and nothing owns memory, but
numba's code has branches for both: what they call ends the process.
"""

import importlib
from typing import Any, cast

import llvmlite.binding as lb
import numba
import numpy as np

from morello.search.compiled.jit import OPTIONS
from morello.search.compiled.parameters import Parameter
from morello.search.compiled.pointers import pointer

_OWN = ("numba_", "NRT_", "Py")
"""How the names of what only numba and Python define begin."""


def object_code(module: str, name: str, parameters: tuple[Parameter, ...]) -> bytes:
    """An object file for this machine that defines the entry of a function as ``name``.

    Args:
        module: the module of this package that has the function.
        name: of the function.
        parameters: of the function.
    """
    text = _entry_text(name, parameters)
    function = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    known: dict[str, Any] = {
        "carray": numba.carray,
        "pointer": pointer,
        "np": np,
        "function": function,
    }
    exec(text, known)  # numba takes no functions with as many parameters as are given
    words = ", ".join(["int64"] * sum(parameter.words for parameter in parameters))
    compiled = numba.cfunc(f"int64({words})", **OPTIONS)(known["entry"])
    return _emit(compiled.inspect_llvm(), compiled.native_name, name)


def _entry_text(name: str, parameters: tuple[Parameter, ...]) -> str:
    """The source of an entry."""
    signature, passed = [], []
    for index, parameter in enumerate(parameters):
        word = f"p{index}"
        lengths = [f"{word}_{axis}" for axis in range(parameter.rank)]
        signature += [word, *lengths]
        if parameter.rank:
            shape = "".join(f"{length}, " for length in lengths)
            word = f"carray(pointer({word}), ({shape}), np.{parameter.dtype})"
        passed.append(word)
    call = f"function({', '.join(passed)})"
    return f"def entry({', '.join(signature)}):\n    return {call}\n"


def _emit(text: str, entry: str, name: str) -> bytes:
    """The machine code of a module, in which ``entry`` is called ``name``.

    Raises:
        RuntimeError: it calls what only numba has.
    """
    context = lb.create_context()
    with lb.parse_assembly(text, context=context) as module:
        missing = (f for f in module.functions if f.is_declaration)
        called = [str(f) for f in missing if f.name.startswith(_OWN)]
        ends = lb.parse_assembly("\n".join(map(_ending, called)), context=context)
        module.link_in(ends)
        for function in module.functions:
            if function.name == entry:
                function.name = name
            elif not function.is_declaration:
                function.linkage = lb.Linkage.internal
        machine = _machine()
        tuning = lb.create_pipeline_tuning_options(speed_level=3)
        builder = lb.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        return cast(bytes, machine.emit_object(module))


def _ending(declaration: str) -> str:
    """The definition of a declared function that ends the process."""
    head = declaration.strip().replace("declare", "define", 1)
    head = head[: head.rindex(")") + 1]
    return f"{head} {{\n  call void @llvm.trap()\n  unreachable\n}}"


def _machine() -> Any:
    """LLVM's code generator for the machine that this runs on."""
    lb.initialize_native_target()
    lb.initialize_native_asmprinter()
    target = lb.Target.from_default_triple()
    features = lb.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=lb.get_host_cpu_name(), features=features, opt=3, reloc="pic", jit=True
    )
