"""LLVM IR text to machine code in this process.

`compile_llvm` is the entry point: `compile_object` makes an object for any CPU, and
`load` puts it into an `Engine` if this machine can run it. Both are safe to call from
several threads; llvmlite takes a lock around each of its calls.

Invariants: an `Engine` owns the code, so whoever keeps an address keeps the engine; the
same text, CPU and features give the same bytes of object.
"""

import dataclasses
import enum
import functools
import re
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as lb
from llvmlite.binding.newpassmanagers import NewPassManager

from morello.errors import CompileError, TargetError
from morello.lazy import cached_property
from morello.machine.architectures import HOST
from morello.machine.host import missing_features, required_features
from morello.processes.interrupts import interruptible
from morello.runtime.llvm_text import refuse_hazards
from morello.runtime.loop_alignment import FREE
from morello.runtime.object_file import undefined_symbols

_ADDED = ' "no-builtins" "tune-cpu"="{}"'
"""Attributes of every function. Without builtins a loop that copies or fills stays a
loop; LLVM would otherwise call ``memcpy`` or ``memset``, against the schedule."""

_DEFINE = re.compile(r"^(define [^\n]*?)\s*\{$", re.MULTILINE)
_EMPTY = re.compile(r"^attributes (#\d+) = \{ \}$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Compiled:
    """Machine code that is not loaded.

    Args:
        llvm: the LLVM IR after optimisation.
        object: an ELF object; the same bytes for the same input.
        functions: names of the functions that it defines, in order.
        cpu: the CPU that it was built for, as LLVM spells it.
        features: changes to the CPU's features, as LLVM spells them.
        for_linker: it is for a linker, not for this process.
        calls: names of the functions of others that it calls, sorted.
    """

    llvm: str
    object: bytes = dataclasses.field(repr=False)
    functions: tuple[str, ...]
    cpu: str
    features: str
    for_linker: bool = False
    calls: tuple[str, ...] = ()

    def assembly(self) -> str:
        """The assembly of the object, as text; generated again at each call."""
        reach = _reach(self.for_linker, self.calls)
        machine = _target_machine(self.cpu, self.features, 3, reach)
        with _parse(_tuned(self.llvm), machine) as module:
            return str(machine.emit_assembly(module))


class Engine:
    """Machine code for this process, which has it from the first address on.

    Its addresses hold as long as the engine lives.
    """

    def __init__(self, compiled: Compiled, *, was_read: bool = False) -> None:
        self._compiled = compiled
        self.was_read = was_read
        """Whether an earlier process compiled it."""
        self._loaded: list[Any] = []
        """LLVM's engine; the first, where threads load at the same time."""

    @property
    def compiled(self) -> Compiled:
        """The code, and its CPU."""
        return self._compiled

    @property
    def is_loaded(self) -> bool:
        """Whether the process has the code."""
        return bool(self._loaded)

    def load(self) -> None:
        """Put the code into this process.

        Raises:
            TargetError: this machine lacks a feature that the code may use.
            CompileError: the code calls a function that this process does not have.
        """
        if not self._loaded:
            self._loaded.append(_execution_engine(self._compiled))

    @property
    def llvm(self) -> str:
        """The LLVM IR after optimisation."""
        return self._compiled.llvm

    @property
    def object(self) -> bytes:
        """The ELF object; the same bytes for the same input."""
        return self._compiled.object

    @cached_property
    def asm(self) -> str:
        """The assembly as text."""
        return self._compiled.assembly()

    def address(self, name: str) -> int:
        """Address of a function's first instruction.

        Raises:
            CompileError: no function has this name.
            TargetError, CompileError: as `load`.
        """
        if name not in self._compiled.functions:
            raise CompileError(
                f"the module defines no function {name!r}",
                f"it defines {', '.join(self._compiled.functions) or 'none'}",
            )
        self.load()
        return int(self._loaded[0].get_function_address(name))


@functools.cache
def _initialise() -> None:
    """Bring LLVM's back end up, once a process."""
    lb.initialize_native_target()
    lb.initialize_native_asmprinter()
    lb.initialize_native_asmparser()


class _Reach(enum.Enum):
    """How code reaches its constants and the functions of others."""

    LINKER = "by relocations that a linker takes"
    NEAR = "within 2 GiB: all that it needs is in one place"
    FAR = "anywhere, by addresses of 64 bits"


def _reach(for_linker: bool, calls: tuple[str, ...]) -> _Reach:
    """MCJIT's own manager of memory, which code that calls others needs, may put its
    constants further than 2 GiB from it in a large process."""
    if for_linker:
        return _Reach.LINKER
    return _Reach.FAR if calls else _Reach.NEAR


def _target_machine(
    cpu: str, features: str, opt: int, reach: _Reach = _Reach.NEAR
) -> Any:
    """A code generator of its own for one use: they are not shared between threads."""
    _initialise()
    models = {_Reach.LINKER: "small", _Reach.NEAR: "default", _Reach.FAR: "large"}
    return lb.Target.from_triple(HOST.triple).create_target_machine(
        cpu=cpu,
        features=features,
        opt=opt,
        reloc="static" if reach is _Reach.FAR else "pic",
        codemodel=models[reach],
        jit=reach is not _Reach.LINKER,
    )


def _parse(text: str, machine: Any) -> Any:
    """Parse and verify a module in a context of its own; the caller closes it.

    A context that is shared would keep every constant and type of every kernel. Left to
    the garbage collector, the context may be freed before the module, which crashes.

    Raises:
        CompileError: with LLVM's message, which quotes line and column.
    """
    module = None
    try:
        module = lb.parse_assembly(text, context=lb.create_context())
        module.verify()
    except RuntimeError as error:
        if module is not None:
            module.close()
        raise CompileError(
            f"LLVM cannot read the module: {str(error).strip()}",
            "the bindings' LLVM is newer than llvmlite's; please report the construct",
        ) from error
    module.triple = HOST.triple
    module.data_layout = str(machine.target_data)
    return module


def _optimise(module: Any, machine: Any, opt: int, may_vectorise: bool) -> None:
    """Run LLVM's pipeline; to vectorise is the schedule's decision, not LLVM's, but
    for plain code."""
    tuning = lb.create_pipeline_tuning_options(speed_level=opt)
    tuning.loop_vectorization = may_vectorise
    tuning.slp_vectorization = False
    builder = lb.create_pass_builder(machine, tuning)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    # llvmlite 0.50 names its base classes in an order that hides this method, so that
    # nothing frees the passes: about 80 KiB a compilation.
    NewPassManager._dispose(manager)
    manager.detach()


def compile_object(
    text: str, *, cpu: str, features: str = "", opt: int = 3
) -> Compiled:
    """Compile LLVM IR for any x86-64 CPU, whether this machine can run it or not.

    Args:
        text: a module that llvmlite's LLVM reads (see `llvm_text.downgrade`).
        cpu: as LLVM spells it, e.g. ``haswell``.
        features: changes to it, e.g. ``+avx512f,-fma``.
        opt: LLVM's level, 0 to 3.

    Raises:
        CompileError: a module that is not valid, or that holds what no kernel may.
        TargetError: a CPU or a feature that LLVM does not have.
    """
    refuse_hazards(text)
    return _compile(text, cpu, features, opt, for_linker=False)


def compile_for_linker(
    text: str, around: str, *, cpu: str, features: str = ""
) -> Compiled:
    """Compile LLVM IR to an object that a linker takes, for programs and libraries.

    Args:
        text: as for `compile_object`.
        around: LLVM IR that is added to it, whose functions may name a CPU of their
            own: those that run before it is known what the machine has.
        cpu: as for `compile_object`.
        features: as for `compile_object`.

    Raises:
        CompileError: a module that is not valid, or that holds what no kernel may.
        TargetError: a CPU or a feature that LLVM does not have.
    """
    refuse_hazards(text)
    return _compile(f"{text}\n{around}", cpu, features, 3, for_linker=True)


def compile_modules_for_linker(
    modules: Sequence[tuple[str, str, str]], around: str, exported: Sequence[str] = ()
) -> Compiled:
    """Compile several modules, each for its own CPU, into one object.

    Args:
        modules: a module as for `compile_object`, its CPU and its features.
        around: as for `compile_for_linker`: it calls the functions of the modules.
        exported: the functions of the modules that other objects may call.

    Raises:
        CompileError: a module that is not valid, or that holds what no kernel may.
        TargetError: a CPU or a feature that LLVM does not have.
    """
    for text, cpu, features in modules:
        refuse_hazards(text)
        required_features(cpu, features)
    texts = [_for_cpu(*module) for module in modules]
    return _compile(
        around, HOST.base_cpu, "", 3, for_linker=True, more=texts, exported=exported
    )


def _for_cpu(text: str, cpu: str, features: str) -> str:
    """A module whose functions name their CPU, and what every function gets here."""
    attributes = f'{_ADDED} "target-cpu"="{cpu}" "target-features"="{features}"'
    return _DEFINE.sub(rf"\1{attributes} {{", text)


def _compile(
    text: str,
    cpu: str,
    features: str,
    opt: int,
    for_linker: bool,
    more: Sequence[str] = (),
    exported: Sequence[str] = (),
) -> Compiled:
    """Compile a module, and ``more`` modules with it that it may call."""
    required_features(cpu, features)
    if opt not in range(4):
        raise CompileError(f"no optimisation level {opt!r}", "use 0, 1, 2 or 3")

    def call() -> Compiled:
        return _compiled(text, cpu, features, opt, for_linker, more, exported)

    return interruptible(call) if len(text) >= _LONG else call()


_LONG = 100_000
"""Characters of a module that LLVM may take tenths of a second for."""


def _compiled(
    text: str,
    cpu: str,
    features: str,
    opt: int,
    for_linker: bool,
    more: Sequence[str],
    exported: Sequence[str],
) -> Compiled:
    machine = _target_machine(cpu, features, opt, _reach(for_linker, ()))
    with _parse(_tuned(text), machine) as module:
        _link(module, more, exported)
        functions = tuple(f.name for f in module.functions if _is_exported(f))
        _optimise(module, machine, opt, may_vectorise=FREE in text)
        # Code generation changes the module, so its text is taken before. It can be
        # compiled again, so it is without what every function gets here.
        tuned = str(module)
        data = machine.emit_object(module)
    llvm = _untuned(tuned)
    # What is called is known for certain only now: code generation adds calls.
    calls = undefined_symbols(data)
    reach = _reach(for_linker, calls)
    if reach is _Reach.FAR:
        machine = _target_machine(cpu, features, opt, reach)
        with _parse(tuned, machine) as module:
            data = machine.emit_object(module)
    return Compiled(llvm, data, functions, cpu, features, for_linker, calls)


def _is_exported(function: Any) -> bool:
    return not function.is_declaration and function.linkage is not lb.Linkage.internal


def _link(module: Any, texts: Sequence[str], exported: Sequence[str]) -> None:
    """Add modules to one, which calls their functions.

    Only those that are exported are seen by other objects.
    """
    for text in texts:
        # Linked modules have one context.
        other = lb.parse_assembly(text, context=module._context)
        other.triple, other.data_layout = module.triple, module.data_layout
        names = [f.name for f in other.functions if not f.is_declaration]
        module.link_in(other)
        for name in names:
            if name not in exported:
                module.get_function(name).linkage = "internal"


def _tuned(text: str) -> str:
    """The module with `_ADDED` in each function.

    Functions that name a CPU of their own are left alone.
    """
    added = _added(text)
    return _DEFINE.sub(lambda m: m[0] if "-cpu" in m[0] else f"{m[1]}{added} {{", text)


def _added(text: str) -> str:
    """`_ADDED` of a module."""
    others = (cpu for word, cpu in HOST.other_tunes.items() if word in text)
    return _ADDED.format(next(others, HOST.tune))


def _untuned(text: str) -> str:
    """The module without `_ADDED`, and without groups that had nothing else.

    LLVM reads no empty group of attributes.
    """
    text = text.replace(_added(text), "")
    for group in _EMPTY.findall(text):
        text = re.sub(
            rf" {group}\b", "", text.replace(f"attributes {group} = {{ }}\n", "")
        )
    return text


def _require(cpu: str, features: str, llvm: str) -> None:
    """Refuse what would end in an illegal instruction, and ask the system to permit
    what it only permits who asks.

    Raises:
        TargetError: names what the machine lacks, or why the system refuses.
    """
    missing = missing_features(cpu, features)
    if missing:
        raise TargetError(
            f"this machine cannot run code for {f'{cpu} {features}'.strip()}: its CPU "
            f"lacks {', '.join(missing)}",
            "compile for a target that it has, or with load=False for another machine",
        )
    HOST.permit(HOST.used(required_features(cpu, features), llvm))


def compile_optimised(text: str, opt: int) -> Engine:
    """Compile and load LLVM IR of our own that is optimised already, or too short.

    Args:
        text: a module, which may call the functions of this process.
        opt: the level of code generation, 0 to 3.

    Raises:
        CompileError: a module that is not valid, or calls an unknown function.
    """
    machine = _target_machine(HOST.base_cpu, "", opt, _Reach.FAR)
    with _parse(_tuned(text), machine) as module:
        functions = tuple(f.name for f in module.functions if not f.is_declaration)
        data = machine.emit_object(module)
    calls = undefined_symbols(data)
    return load(Compiled(text, data, functions, HOST.base_cpu, "", calls=calls))


def load(compiled: Compiled) -> Engine:
    """Put an object into this process.

    Raises:
        TargetError, CompileError: as `Engine.load`.
    """
    engine = Engine(compiled)
    engine.load()
    return engine


def _execution_engine(compiled: Compiled) -> Any:
    """LLVM's engine that holds an object.

    Raises:
        TargetError, CompileError: as `Engine.load`.
    """
    _require(compiled.cpu, compiled.features, compiled.llvm)
    # Made first: it is what opens the symbols of this process to the search below.
    machine = _target_machine(compiled.cpu, compiled.features, 3)
    # Its module is empty and in the context that lives as long as the process: with one
    # of its own the engine could not be freed with a cycle that it is part of.
    # llvmlite's manager of memory puts all in one place, which near code needs; code
    # that calls others crashes with it.
    engine = lb.create_mcjit_compiler(
        lb.parse_assembly(""), machine, use_lmm=not compiled.calls
    )
    unknown = [name for name in compiled.calls if lb.address_of_symbol(name) is None]
    if unknown:
        raise CompileError(
            f"the code calls {', '.join(unknown)}, which this process does not have",
            "load the library that defines it first, or lower the op that needs it",
        )
    engine.add_object_file(lb.ObjectFileRef.from_data(compiled.object))
    engine.finalize_object()
    return engine


def compile_llvm(text: str, *, cpu: str, features: str = "", opt: int = 3) -> Engine:
    """Compile LLVM IR and load it.

    Args:
        text: a module that llvmlite's LLVM reads (see `llvm_text.downgrade`).
        cpu: as LLVM spells it, e.g. ``haswell``.
        features: changes to it, e.g. ``+avx512f,-fma``.
        opt: LLVM's level, 0 to 3.

    Raises:
        CompileError: a module that cannot be compiled or loaded.
        TargetError: an unknown CPU or feature, or one that this machine lacks.
    """
    _require(cpu, features, text)
    return load(compile_object(text, cpu=cpu, features=features, opt=opt))
