"""The text of a schedule, its handles named after their holes.

MLIR numbers results: ``%5:2 = "morello_transform.tile"(%1#1)``. As people would write
it: ``%main_2, %remainder = "morello_transform.tile"(%body_1)``.
"""

import itertools
import re
from collections.abc import Iterator

from morello.dialect.transform import ACTION_OPS
from morello.mlir import ir

_SCOPE = re.compile(r"^\s*transform\.named_sequence ")
_ACTION = re.compile(r'^(\s*)%(\d+)(?::\d+)? = "morello_transform\.(\w+)"')
_MATCH = re.compile(
    r'^(\s*)%(\d+) = transform\.structured\.match ops\{\["morello\.(\w+)"'
)
_USE = re.compile(r"%\d+(?:#\d+)?")


def schedule_text(module: ir.Module) -> str:
    """A module with a schedule as text; what it is parsed to is the same module."""
    return "".join(_named(str(module).splitlines(keepends=True)))


def _named(lines: list[str]) -> Iterator[str]:
    names: dict[str, str] = {}
    taken: set[str] = set()
    for line in lines:
        if _SCOPE.match(line):
            names, taken = {}, set()  # numbers begin anew
        action, match = _ACTION.match(line), _MATCH.match(line)
        operation = action or match
        if operation is None:
            yield _renamed(line, names)
            continue
        roles = ACTION_OPS[operation[3]].roles if action else (operation[3],)
        results = [_unique(role, taken) for role in roles]
        said = _renamed(line[line.index(" = ") :], names)
        number = f"%{operation[2]}"
        if len(results) == 1:
            names[number] = results[0]
        else:
            names |= {f"{number}#{i}": name for i, name in enumerate(results)}
        yield f"{operation[1]}{', '.join(results)}{said}"


def _renamed(text: str, names: dict[str, str]) -> str:
    return _USE.sub(lambda use: names.get(use[0], use[0]), text)


def _unique(role: str, taken: set[str]) -> str:
    """A unique name: ``%main``, ``%main_1``, …"""
    later = (f"{role}_{count}" for count in itertools.count(1))
    name = next(n for n in itertools.chain([role], later) if n not in taken)
    taken.add(name)
    return f"%{name}"
