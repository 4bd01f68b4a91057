"""A processor architecture as a row: the facts of it that are in no instruction set.

Who compiles, measures or guards code reads them from `HOST` (`architectures.py`).
Another architecture is another row there, besides its instruction sets and targets.
"""

import dataclasses
from collections.abc import Callable, Mapping


@dataclasses.dataclass(frozen=True)
class FloatControl:
    """The register of a thread that says how floats are computed.

    Args:
        read: the LLVM intrinsic that stores it in memory.
        write: the one that loads it from memory.
        flags: its bits that are no setting, but say what happened.
        plain: its settings for IEEE 754: no traps, to nearest, denormal numbers.
    """

    read: str
    write: str
    flags: int
    plain: int


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A processor architecture. Names of CPUs and features are as LLVM spells them."""

    names: tuple[str, ...]
    """The names that systems have for it (`platform.machine`)."""
    triple: str
    """The target triple of code for it."""
    tune: str
    """The CPU whose instruction order LLVM follows; no instruction depends on it."""
    other_tunes: Mapping[str, str]
    """By a word of a module in LLVM IR, the CPU that is followed there instead."""
    base_cpu: str
    """The CPU whose code runs on all others."""
    base_features: str
    """Features of `base_cpu` that functions name beside it."""
    half_floats: str
    """The features of code that casts to f16."""
    vector_cpu: str
    """The least CPU that kernels are written for; its code measures, too."""
    vector_options: str
    """Options of the pass ``convert-vector-to-llvm``."""
    cpus: Mapping[str, frozenset[str]]
    """By the name of a CPU, the features that code for it may use."""
    never_chosen: frozenset[str]
    """Features that LLVM uses only where a program asks for them by name."""
    tuning: frozenset[str]
    """Features that steer LLVM and need nothing of the CPU."""
    float_control: FloatControl
    withheld: Callable[[], frozenset[str]] = dataclasses.field(repr=False)
    """Features that the system lets no process use, whatever the CPU has."""
    used: Callable[[frozenset[str], str], frozenset[str]] = dataclasses.field(
        repr=False
    )
    """The features that a module of LLVM IR needs, of those that it may use, as far as
    its text says so."""
    permit: Callable[[frozenset[str]], None] = dataclasses.field(repr=False)
    """Asks the system to permit this process what code with some features does. Raises
    `TargetError` where it refuses."""
    needs: Callable[[frozenset[str]], tuple[int, ...]] = dataclasses.field(repr=False)
    """The features that CPU and system must have, as words for the function
    ``check_cpu``, which is in the file of C called as the first of `names`. Raises
    `CompileError` for one that a program cannot ask for."""

    @property
    def base_attributes(self) -> str:
        """Attributes of functions that run before the CPU is checked."""
        cpu, features = self.base_cpu, self.base_features
        return f'nounwind "target-cpu"="{cpu}" "target-features"="{features}"'
