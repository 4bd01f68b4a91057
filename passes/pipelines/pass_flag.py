"""A pass on a command line; known without importing MLIR."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PassFlag:
    """A pass on the command line.

    Args:
        spelled: the flag as it was written, without its value.
        name: of the pass.
        options: its value, or None.
    """

    spelled: str
    name: str
    options: str | None

    @property
    def element(self) -> str:
        """Text of the pass as an element of a pipeline."""
        return self.name if self.options is None else f"{self.name}{{{self.options}}}"
