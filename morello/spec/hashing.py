"""Values whose hash is computed once: they are keys of dicts very often."""

import dataclasses
from operator import attrgetter
from typing import Any, ClassVar

_HASH = "_hash"


def _nothing(value: object) -> tuple[()]:
    """Hashed fields of a class that has none."""
    return ()


class HashedOnce:
    """A frozen dataclass that keeps its hash.

    A subclass names it: ``__hash__ = HashedOnce.__hash__``, for else the decorator
    writes one. The hash stays in the process: it differs in the next.
    """

    _fields: ClassVar[Any] = None
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            kept = hash(self._values())
            object.__setattr__(self, _HASH, kept)
            return kept

    def _values(self) -> Any:
        own = type(self)
        if own._fields is None:
            names = [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]
            own._fields = attrgetter(*names) if names else _nothing
        return own._fields(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != _HASH}
