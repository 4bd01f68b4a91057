"""Docstrings of classes, where Python was told to leave docstrings out, too.

``python -OO`` drops docstrings; a dataclass then describes itself by its signature.
"""

import ast
import functools
import inspect
import sys


def summary(cls: type) -> str:
    """The first line of the docstring of a class; "" if it is not known."""
    stripped = sys.flags.optimize >= 2
    text = _source_docstring(cls) if stripped else inspect.cleandoc(cls.__doc__ or "")
    return text.partition("\n")[0]


@functools.cache
def _source_docstring(cls: type) -> str:
    """The docstring in the source file, if there is one."""
    try:
        source = inspect.getsource(sys.modules[cls.__module__])
    except (OSError, KeyError, TypeError):
        return ""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
            return ast.get_docstring(node) or ""
    return ""
