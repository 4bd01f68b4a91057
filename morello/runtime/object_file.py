"""Symbols that an ELF object uses and does not define.

The JIT ends the process when code calls a symbol that nothing defines, so the object is
read before it is loaded.
"""

import struct

import llvmlite.binding as lb

_SYMBOL = struct.Struct("<IBBHQQ")
"""An entry of ``.symtab``: name, info, other, section, value, size."""

_UNDEFINED = 0
"""The section of a symbol that another file defines."""


def undefined_symbols(data: bytes) -> tuple[str, ...]:
    """The names that an object uses and does not define, sorted.

    Args:
        data: a 64-bit little-endian ELF object, as the code generator makes it.
    """
    sections = {
        section.name(): section.data()
        for section in lb.ObjectFileRef.from_data(data).sections()
        if section.name() in (b".symtab", b".strtab")
    }
    names = sections[b".strtab"]
    undefined = set()
    for name, _, _, section, _, _ in _SYMBOL.iter_unpack(sections[b".symtab"]):
        if section == _UNDEFINED and name:
            undefined.add(names[name : names.index(b"\0", name)].decode())
    return tuple(sorted(undefined))
