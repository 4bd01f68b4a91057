"""``--mlir-print-ir-…`` and ``--log-actions-to``: what is printed around each pass.

The forms are mlir-opt's. Dumps go to the standard error, or each to a file in a tree of
folders that mirrors the ops.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from morello.mlir import ir
from morello.passes.pipelines.steps import Step
from morello.tools.opt.flags import Flags

Print = Callable[[ir.Operation], str]
"""Prints an op as the flags of the command line say."""


class Dumps:
    """Prints the IR before and after passes."""

    def __init__(self, flags: Flags, print_op: Print) -> None:
        self._flags = flags
        self._print = print_op
        self._fingerprints: list[str] = []
        self._counts: dict[ir.Operation, int] = {}

    def before(self, name: str, step: Step | None, op: ir.Operation) -> None:
        """Dump the IR before a pass, if the flags want it (`Watcher`)."""
        if step is None:
            return
        if self._flags.mlir_print_ir_after_change:
            self._fingerprints.append(_fingerprint(op))
        if self._flags.prints_before(step.argument):
            self._dump("Before", step, op)

    def after(
        self, name: str, step: Step | None, op: ir.Operation, failed: bool
    ) -> None:
        """Dump the IR after a pass, if the flags want it (`Watcher`)."""
        if step is None:
            return
        flags = self._flags
        if flags.mlir_print_ir_after_change:
            old = self._fingerprints.pop()
            if not failed and old == _fingerprint(op):
                return
        if flags.mlir_print_ir_after_failure and not failed:
            return
        if flags.prints_after(step.argument):
            self._dump("After", step, op, " Failed" if failed else "")

    def _dump(self, when: str, step: Step, op: ir.Operation, failed: str = "") -> None:
        place, shown = "", op
        if self._flags.mlir_print_ir_module_scope:
            place = f" ('{op.name}' operation{_symbol(op, ': @')})"
            shown = _outermost(op)
        text = (
            f"// -----// IR Dump {when} {step.name}{failed}: {step.text}{place} "
            f"//----- //\n{self._print(shown)}\n\n"
        )
        if self._flags.mlir_print_ir_tree_dir:
            self._to_file(step, op, text)
        else:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _to_file(self, step: Step, op: ir.Operation, text: str) -> None:
        """One file a dump; its name begins with the number of dumps of each op."""
        self._counts[op] = self._counts.get(op, -1) + 1
        around = [op]
        while around[0].parent is not None:
            around.insert(0, around[0].parent.operation)
        folder = Path(self._flags.mlir_print_ir_tree_dir).joinpath(
            *(
                f"{one.name.replace('.', '_')}_{_symbol(one) or 'no-symbol-name'}"
                for one in around
            )
        )
        numbers = "_".join(str(self._counts.setdefault(one, 0)) for one in around)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{numbers}_{step.argument}.mlir").write_text(text, encoding="utf-8")


class ActionLog:
    """Prints a line where a pass begins, and where it has completed.

    Upstream's other actions, as the iterations of pattern rewriting, cannot be seen
    through the bindings.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def before(self, name: str, step: Step | None, op: ir.Operation) -> None:
        """Log the begin of a pass (`Watcher`)."""
        shown = op.get_asm(skip_regions=True, assume_verified=True).strip()
        self._write(
            f"begins (no breakpoint) Action `pass-execution` running `{name}` on "
            f"Operation `{op.name}` ({shown})`"
        )

    def after(
        self, name: str, step: Step | None, op: ir.Operation, failed: bool
    ) -> None:
        """Log the end of a pass (`Watcher`)."""
        self._write("completed `pass-execution`")

    def _write(self, what: str) -> None:
        self._file.write(f"[thread morello-opt] {what}\n")
        self._file.flush()


def _symbol(op: ir.Operation, before: str = "") -> str:
    """The name of a symbol, as part of a header or of a path."""
    if "sym_name" not in op.attributes:
        return ""
    name = str(ir.StringAttr(op.attributes["sym_name"]).value)
    return before + (name if before else name.replace("/", "_").replace("\\", "_"))


def _outermost(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op


def _fingerprint(op: ir.Operation) -> str:
    """Text of an op that differs if a pass has changed the op."""
    return str(
        op.get_asm(
            print_generic_op_form=True, enable_debug_info=True, assume_verified=True
        )
    )
