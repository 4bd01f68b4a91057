"""``--load-pass-plugin``: passes from a Python file outside Morello.

The file defines ``ROWS``, a sequence of `morello.passes.registry.Row`. It is imported
under the name of its stem, which is the module that its rows name.
"""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

from morello.errors import PipelineError
from morello.passes.registry import PASSES, Row


def load_plugins(paths: Iterable[str]) -> None:
    """Import each file and add its rows.

    Raises:
        PipelineError: a file that cannot be imported, has no ``ROWS``, or names a pass
            that exists.
    """
    for path in paths:
        for row in _rows(Path(path)):
            PASSES.add(row)


def _rows(path: Path) -> Iterable[Row]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PipelineError(
            f"no pass plug-in at '{path}'", "give --load-pass-plugin a Python file"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (ImportError, SyntaxError) as error:
        raise PipelineError(
            f"pass plug-in '{path}' cannot be imported: {error}", "correct the file"
        ) from error
    if not hasattr(module, "ROWS"):
        raise PipelineError(
            f"pass plug-in '{path}' defines no ROWS",
            "add ROWS = (Row('my-pass', 'my_file', 'MyClass'),)",
        )
    rows: Iterable[Row] = module.ROWS
    return rows
