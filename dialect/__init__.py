"""The MLIR dialects of Morello: ``morello`` and ``morello_transform``.

`load` makes both known to a context; nothing else here is imported before it is needed.
Read `build.py` first (Specs to ops and back), then `spec_op.py` (what Spec ops have in
common), `memrefs.py` (how operands must look), and `transform/action_op.py` (how an
action becomes a transform op).
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from morello.processes.forks import defer_forks

_LOCK = threading.Lock()
"""Loading stores things in classes that all contexts share: one thread at a time."""


def load(context: Any) -> None:
    """Make both dialects known to an ``ir.Context``; again changes nothing.

    Must precede the parsing of a module that uses them.
    """
    # Their import completes the dialect.
    from morello.dialect import kernel, range_check  # noqa: F401
    from morello.dialect.definition import Morello
    from morello.dialect.transform import MorelloTransform, attach_interfaces
    from morello.mlir import BACKEND

    for namespace in (Morello.DIALECT_NAMESPACE, MorelloTransform.DIALECT_NAMESPACE):
        # The bindings look for a module of this name at each op that they make, and
        # search the whole path again each time that there is none.
        sys.modules.setdefault(f"{BACKEND}.dialects.{namespace}", sys.modules[__name__])
    with defer_forks(), _LOCK, context:
        # The bindings keep the declaration in the class, and so the context alive.
        if not context.is_dialect_loaded(Morello.DIALECT_NAMESPACE):
            Morello.load()
            Morello._mlir_module = None
        if not context.is_dialect_loaded(MorelloTransform.DIALECT_NAMESPACE):
            MorelloTransform.load()
            attach_interfaces()
            MorelloTransform._mlir_module = None


@contextlib.contextmanager
def in_context() -> Iterator[Any]:
    """Work in a new ``ir.Context`` that has both dialects, without locations."""
    from morello.mlir import ir

    with ir.Context() as context, ir.Location.unknown():
        load(context)
        yield context
