"""What ``morello-opt`` does in its child process: parse, run, print.

The only module of the tool that imports MLIR. It reports by `opt_events.py`.
"""

import re
from collections.abc import Sequence
from typing import Any

from morello import dialect
from morello.errors import MorelloError, PipelineError
from morello.mlir import PassManager, ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.passes.pipelines.text import PipelineTextError
from morello.tools.containment import Send
from morello.tools.diagnostics import PARSED_AS, Diagnostic, Place, from_mlir
from morello.tools.opt_events import (
    CHECKING,
    PARSING,
    PRINTING,
    RUNNING,
    BadUsage,
    Dumped,
    Entered,
    Finished,
    Said,
)
from morello.tools.opt_flags import Flags
from morello.tools.plugins import load_plugins
from morello.tools.split_input import Chunk


def work(
    flags: Flags,
    name: str,
    chunks: Sequence[tuple[int, Chunk]],
    single_step: bool,
    send: Send,
) -> None:
    """Run the pipeline on each chunk.

    Args:
        flags: the command line.
        name: of the input, in diagnostics.
        chunks: what to do, with the index of each.
        single_step: announce every pass, for finding the one that crashes.
        send: takes the events.
    """
    send(Entered(CHECKING))
    try:
        load_plugins(flags.load_pass_plugin)
        pipeline = Pipeline.parse(flags.pass_pipeline or "builtin.module()")
        pipeline.check()
    except PipelineTextError as error:
        send(BadUsage(f"morello-opt: error: {error}\n{error.picture()}"))
        return
    except MorelloError as error:
        send(BadUsage(f"morello-opt: error: {error}"))
        return
    if flags.dump_pass_pipeline:
        send(Dumped(str(pipeline)))
    for index, chunk in chunks:
        run = _Run(flags, name, pipeline, single_step, send)
        send(Finished(index, run.result(chunk)))


class _Run:
    """One chunk, in a context of its own."""

    def __init__(
        self, flags: Flags, name: str, pipeline: Pipeline, step: bool, send: Send
    ) -> None:
        self.flags = flags
        self.name = name
        self.pipeline = pipeline
        self.single_step = step
        self.send = send
        self.errors = 0

    def result(self, chunk: Chunk) -> str | None:
        """The printed module, or None after at least one error."""
        with ir.Context() as context:
            context.allow_unregistered_dialects = self.flags.allow_unregistered_dialect
            # Without this, errors are held back in exceptions and come out of order.
            context.emit_error_diagnostics = True
            handler = context.attach_diagnostic_handler(self.heard)
            try:
                dialect.load(context)
                return self.transformed(chunk)
            except ir.MLIRError as error:
                if not self.errors:
                    self.error(f"failed without a message: {error}")
            except MorelloError as error:
                self.error(str(error))
            finally:
                handler.detach()
        return None

    def transformed(self, chunk: Chunk) -> str:
        self.send(Entered(PARSING))
        module = ir.Module.parse(chunk.padded)
        if self.pipeline.elements:
            manager = self.pipeline.build(
                lambda text: self.send(Entered(_stage(text))), self.single_step
            )
            self.configure(manager)
            self.send(Entered(RUNNING))
            manager.run(module.operation)
            # Timing is reported when the manager goes.
            del manager
        self.send(Entered(PRINTING))
        return self.printed(module.operation)

    def configure(self, manager: PassManager) -> None:
        flags = self.flags
        manager.enable_verifier(flags.verify_each)
        if flags.prints_ir:
            manager.enable_ir_printing(
                print_before_all=flags.mlir_print_ir_before_all,
                print_after_all=flags.prints_after,
                print_module_scope=flags.mlir_print_ir_module_scope,
                print_after_change=flags.mlir_print_ir_after_change,
                print_after_failure=flags.mlir_print_ir_after_failure,
                large_elements_limit=flags.mlir_elide_elementsattrs_if_larger,
                enable_debug_info=flags.mlir_print_debuginfo,
                print_generic_op_form=flags.mlir_print_op_generic,
                tree_printing_dir_path=flags.mlir_print_ir_tree_dir or None,
            )
        if flags.mlir_timing:
            manager.enable_timing()
        if flags.mlir_pass_statistics:
            manager.enable_statistics()

    def printed(self, module: Any) -> str:
        flags = self.flags
        text: str = module.get_asm(
            large_elements_limit=flags.mlir_elide_elementsattrs_if_larger,
            enable_debug_info=flags.mlir_print_debuginfo,
            print_generic_op_form=flags.mlir_print_op_generic,
            use_local_scope=flags.mlir_print_local_scope,
            # With --verify-each=false a module that is wrong is printed as it is.
            assume_verified=not flags.verify_each and flags.mlir_print_op_generic,
        )
        text = text if text.endswith("\n") else f"{text}\n"
        if not flags.mlir_print_debuginfo:
            return text
        # The parser of the bindings takes no file name.
        name = self.name.replace("\\", "\\\\").replace('"', '\\"')
        return re.sub(rf'"{PARSED_AS}":(\d+:\d+)', lambda at: f'"{name}":{at[1]}', text)

    def heard(self, diagnostic: Any) -> bool:
        plain = from_mlir(diagnostic, self.name)
        self.errors += plain.severity == "error"
        self.send(Said(plain))
        return True

    def error(self, message: str) -> None:
        self.errors += 1
        self.send(Said(Diagnostic("error", Place(self.name), message)))


def _stage(text: str) -> str:
    return f"pass '{text}'" if text else RUNNING


def dialects() -> list[str]:
    """The names of all dialects that can be parsed, sorted."""
    with ir.Context() as context:
        dialect.load(context)
        context.emit_error_diagnostics = False
        try:
            # The bindings have no list, but this error names them all.
            ir.Module.parse("unknown_dialect.op")
        except ir.MLIRError as error:
            notes = [n.message for d in error.error_diagnostics for n in d.notes]
            # "(*)" marks what has been loaded without being registered.
            text = " ".join(notes).replace(" (*)", "")
            found = re.search(r"Available dialects: ([^(;]*)", text)
            if found:
                return sorted(found[1].strip().split(", "))
    raise PipelineError("the MLIR bindings do not tell which dialects they have")
