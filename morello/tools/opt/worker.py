"""Work of ``morello-opt`` in its child process: parse, run, print.

This and `dialect_names.py` alone import MLIR. It reports by `events.py`.
"""

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from morello import dialect
from morello.errors import MorelloError, PipelineError
from morello.mlir import PassDisplayMode, PassManager, ir
from morello.mlir import dialect as mlir_dialect
from morello.passes.pipelines.implicit_nesting import pipeline_text
from morello.passes.pipelines.pipeline import (
    ANY,
    MODULE,
    UNKNOWN,
    Pipeline,
    closest,
    refusal_of,
)
from morello.passes.pipelines.steps import Watcher, pretty, resolve
from morello.passes.pipelines.steps import run as run_steps
from morello.passes.pipelines.text import PipelineTextError
from morello.passes.registry import PASSES
from morello.tools.input_output import write_output
from morello.tools.opt.containment import Send
from morello.tools.opt.diagnostics import (
    OP_NOTE,
    PARSED_AS,
    Diagnostic,
    Place,
    from_mlir,
)
from morello.tools.opt.dialect_names import dialects
from morello.tools.opt.events import (
    CHECKING,
    PARSING,
    PRINTING,
    RUNNING,
    BadUsage,
    Entered,
    Finished,
    Said,
)
from morello.tools.opt.flags import Flags, flag_names
from morello.tools.opt.ir_dumps import ActionLog, Dumps
from morello.tools.opt.mlir_reproducer import HELD_AS, held_pipeline, with_pipeline
from morello.tools.opt.plugins import load_plugins
from morello.tools.opt.split_input import Chunk

_SHOWN = {
    "errors": ("error",),
    "warnings": ("error", "warning"),
    "remarks": ("error", "warning", "remark", "note"),
}
"""Severities that each ``--mlir-diagnostic-verbosity-level`` shows."""


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
        pipeline = _pipeline(flags)
        _check_names(flags)
    except MorelloError as error:
        send(_bad_usage(error))
        return
    if flags.debug or flags.debug_only:
        ir._GlobalDebug.flag = True
        ir._GlobalDebug.set_types(list(flags.debug_only))
    for index, chunk in chunks:
        run = _Run(flags, name, pipeline, single_step, send)
        send(Finished(index, run.result(chunk)))


def _bad_usage(error: MorelloError) -> BadUsage:
    picture = f"\n{error.picture()}" if isinstance(error, PipelineTextError) else ""
    return BadUsage(f"morello-opt: error: {error}{picture}")


def _pipeline(flags: Flags, op: str | None = None) -> Pipeline | None:
    """The pipeline of the command line, checked.

    Args:
        flags: the command line.
        op: the input's outermost op, where it is in no module; None before it is known.

    Returns:
        None if it is not known yet.

    Raises:
        PipelineError: the column, the reason, and what would be legal.
    """
    anchor = op if flags.no_implicit_module else MODULE
    text = flags.pass_pipeline
    if flags.passes or not text:
        if anchor is None:
            return None
        text = pipeline_text(flags.passes, anchor, flag_names())
    pipeline = Pipeline.parse(text, op=anchor)
    pipeline.check()
    return pipeline


def _check_names(flags: Flags) -> None:
    """Refuse names of passes around which nothing can be printed.

    Raises:
        PipelineError: there is no such pass.
    """
    with ir.Context():
        for name in (*flags.mlir_print_ir_before, *flags.mlir_print_ir_after):
            if name not in PASSES and UNKNOWN in refusal_of(MODULE, name):
                raise PipelineError(
                    f"the IR cannot be printed around '{name}': no pass is called so",
                    closest(name),
                )


class _Run:
    """One chunk, in a context of its own."""

    def __init__(
        self, flags: Flags, name: str, pipeline: Pipeline | None, step: bool, send: Send
    ) -> None:
        self.flags = flags
        self.name = name
        self.pipeline = pipeline
        self.single_step = step
        self.send = send
        self.errors = 0
        self.first_line = 1

    def result(self, chunk: Chunk) -> bytes | None:
        """The printed op, or None after at least one error."""
        with ir.Context() as context:
            context.allow_unregistered_dialects = self.flags.allow_unregistered_dialect
            # Without this, errors are held back in exceptions and come out of order.
            context.emit_error_diagnostics = True
            handler = context.attach_diagnostic_handler(self.heard)
            try:
                dialect.load(context)
                _load_for(chunk.source, context)
                if self.flags.irdl_file:
                    _load_irdl(self.flags.irdl_file)
                return self.transformed(chunk)
            except ir.MLIRError as error:
                if not self.errors:
                    self.error(f"failed without a message: {error}")
            except PipelineError as error:
                self.send(_bad_usage(error))
            except MorelloError as error:
                self.error(str(error))
            finally:
                handler.detach()
        return None

    def transformed(self, chunk: Chunk) -> bytes | None:
        flags = self.flags
        self.send(Entered(PARSING))
        self.first_line = chunk.first_line
        op = self.named(chunk)
        if flags.verify_roundtrip:
            self.check_roundtrip(op)
        pipeline = self.pipeline_for(op, chunk)
        if flags.mlir_generate_reproducer:
            text = with_pipeline(str(op), str(pipeline), flags.verify_each)
            write_output(flags.mlir_generate_reproducer, text)
        if flags.dump_pass_pipeline:
            sys.stderr.write(f"{pretty(resolve(pipeline), pipeline.anchor)}\n\n")
            sys.stderr.flush()
        if pipeline.elements and not self.ran(pipeline, op):
            return None
        self.send(Entered(PRINTING))
        if flags.emit_bytecode:
            buffer = io.BytesIO()
            op.write_bytecode(buffer, desired_version=flags.emit_bytecode_version)
            return buffer.getvalue()
        return f"{self.printed(op)}\n".encode("utf-8", "surrogateescape")

    def named(self, chunk: Chunk) -> ir.Operation:
        """The op of a chunk; its locations have the name of the input.

        The parser of modules takes no name of text, only files.
        """
        flags = self.flags
        is_file = flags.input != "-" and Path(flags.input).is_file()
        if is_file and not flags.split_input_file and not flags.no_implicit_module:
            return ir.Module.parseFile(flags.input).operation
        return self.parsed(chunk)

    def parsed(self, chunk: Chunk) -> ir.Operation:
        if self.flags.no_implicit_module:
            if isinstance(chunk.source, bytes):
                raise MorelloError(
                    "bytecode is read as a module", "leave --no-implicit-module out"
                )
            return ir.Operation.parse(chunk.padded, source_name=self.name).operation
        return ir.Module.parse(chunk.padded).operation

    def pipeline_for(self, op: ir.Operation, chunk: Chunk) -> Pipeline:
        """The pipeline that runs on an op.

        Raises:
            PipelineError: there is none.
        """
        if self.flags.run_reproducer:
            held = Pipeline.parse(held_pipeline(chunk.source), op=op.name)
            held.check()
            return held
        if self.pipeline is None or self.pipeline.anchor not in (op.name, ANY):
            self.pipeline = _pipeline(self.flags, op.name)
        if self.pipeline is None:
            raise RuntimeError("the pipeline of a known op is known")
        return self.pipeline

    def check_roundtrip(self, op: ir.Operation) -> None:
        """Refuse an op that is another when it is printed and parsed again.

        Raises:
            MorelloError: it is, or it cannot be parsed.
        """
        before = _whole_text(op)
        buffer = io.BytesIO()
        op.write_bytecode(buffer)
        forms: dict[str, str | bytes] = {
            "bytecode": buffer.getvalue(),
            "text": op.get_asm(enable_debug_info=True),
            "generic text": op.get_asm(
                enable_debug_info=True, print_generic_op_form=True
            ),
        }
        for form, data in forms.items():
            if self.flags.no_implicit_module and isinstance(data, bytes):
                continue  # the bindings read bytecode of modules alone
            again = self.parsed(Chunk(data))
            if _whole_text(again) != before:
                raise MorelloError(
                    f"'{op.name}' is another after it is written as {form} and parsed",
                    "its dialect prints or parses it wrongly",
                )

    def ran(self, pipeline: Pipeline, op: ir.Operation) -> bool:
        """Run the pipeline; whether it succeeded."""
        flags = self.flags
        watched = flags.prints_ir or flags.log_actions_to
        if watched and not flags.mlir_timing and not flags.mlir_pass_statistics:
            return self.ran_by_steps(pipeline, op)
        manager = pipeline.build(self.announce, self.single_step)
        self.configure(manager)
        self.send(Entered(RUNNING))
        manager.run(op)
        # Timing is reported when the manager goes.
        del manager
        return True

    def ran_by_steps(self, pipeline: Pipeline, op: ir.Operation) -> bool:
        flags = self.flags
        steps = resolve(pipeline)
        with contextlib.ExitStack() as stack:
            watchers: list[Watcher] = []
            if flags.prints_ir:
                watchers.append(Dumps(flags, self.printed))
            if flags.log_actions_to:
                log = sys.stdout
                if flags.log_actions_to != "-":
                    log = stack.enter_context(Path(flags.log_actions_to).open("a"))
                watchers.append(ActionLog(log))
            self.send(Entered(RUNNING))
            return run_steps(
                steps, op, watchers, verify=flags.verify_each, announce=self.announce
            )

    def announce(self, text: str) -> None:
        self.send(Entered(f"pass '{text}'" if text else RUNNING))

    def configure(self, manager: PassManager) -> None:
        flags = self.flags
        manager.enable_verifier(flags.verify_each)
        if flags.prints_ir:
            manager.enable_ir_printing(
                print_before_all=flags.prints_before(""),
                print_after_all=flags.prints_after(""),
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
            mode = flags.mlir_pass_statistics_display.upper()
            manager.enable_statistics(PassDisplayMode[mode])

    def printed(self, op: ir.Operation) -> str:
        flags = self.flags
        text: str = op.get_asm(
            large_elements_limit=flags.mlir_elide_elementsattrs_if_larger,
            large_resource_limit=flags.mlir_elide_resource_strings_if_larger,
            enable_debug_info=flags.mlir_print_debuginfo or flags.mlir_pretty_debuginfo,
            pretty_debug_info=flags.mlir_pretty_debuginfo,
            print_generic_op_form=flags.mlir_print_op_generic,
            use_local_scope=flags.mlir_print_local_scope,
            use_name_loc_as_prefix=flags.mlir_use_nameloc_as_prefix,
            skip_regions=flags.mlir_print_skip_regions,
            # With --verify-each=false a module that is wrong is printed as it is.
            assume_verified=flags.mlir_print_assume_verified
            or (not flags.verify_each and flags.mlir_print_op_generic),
        )
        # The parser of the bindings takes no file name.
        if flags.mlir_pretty_debuginfo:
            return re.sub(rf"(?<!\w){PARSED_AS}(?=:\d+:\d+)", lambda _: self.name, text)
        if not flags.mlir_print_debuginfo:
            return text
        name = self.name.replace("\\", "\\\\").replace('"', '\\"')
        return re.sub(rf'"{PARSED_AS}":(\d+:\d+)', lambda at: f'"{name}":{at[1]}', text)

    def heard(self, diagnostic: Any) -> bool:
        plain = from_mlir(diagnostic, self.name)
        if not plain.place.line and self.first_line > 1:  # of the chunk as a whole
            place = replace(plain.place, line=self.first_line)
            plain = replace(plain, place=place)
        if self.flags.mlir_disable_diagnostic_notes:
            plain = plain.with_notes(lambda note: note.startswith(OP_NOTE))
        if not self.flags.mlir_print_op_on_diagnostic:
            plain = plain.with_notes(lambda note: not note.startswith(OP_NOTE))
        if self.flags.run_reproducer and HELD_AS in plain.message:
            return True  # it was read as text
        self.errors += plain.severity == "error"
        if self.is_wanted(plain):
            self.send(Said(plain))
        return True

    def is_wanted(self, said: Diagnostic) -> bool:
        """Whether a diagnostic is to be shown; one that is expected always is."""
        shown = _SHOWN[self.flags.mlir_diagnostic_verbosity_level]
        return bool(self.flags.verify_diagnostics) or said.severity in shown

    def error(self, message: str) -> None:
        self.errors += 1
        self.send(Said(Diagnostic("error", Place(self.name), message)))


def _whole_text(op: ir.Operation) -> str:
    return str(op.get_asm(print_generic_op_form=True, enable_debug_info=True))


def _load_for(text: str | bytes, context: ir.Context) -> None:
    """Make StableHLO known for a text that names it: it takes longer than the rest."""
    names = "stablehlo", "chlo", "vhlo"
    data = text.encode() if isinstance(text, str) else text
    if any(f"{name}".encode() in data for name in names):
        from morello.frontends.linalg.reading import load_stablehlo

        load_stablehlo(context)


def _load_irdl(path: str) -> None:
    """Make the dialects known that a module of irdl defines.

    Raises:
        MorelloError: it cannot be read, or one of them exists.
        MLIRError: it cannot be parsed; that is reported.
    """
    if not Path(path).is_file():
        raise MorelloError(
            f"no file at '{path}'", "give --irdl-file a module of the irdl dialect"
        )
    module = ir.Module.parseFile(path)
    names = [
        str(ir.StringAttr(op.attributes["sym_name"]).value)
        for op in module.body.operations
        if op.operation.name == "irdl.dialect"
    ]
    for name in names:
        if ir.Context.current.is_dialect_loaded(name) or name in dialects():
            raise MorelloError(
                f"'{path}' defines the dialect '{name}', which there is already",
                "give it another name",
            )
    mlir_dialect("irdl").load_dialects(module)
