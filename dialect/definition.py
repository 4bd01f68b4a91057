"""The ``morello`` dialect, and the bindings that ops are declared with."""

from typing import TYPE_CHECKING, Any

from morello.mlir import dialect, ir

if TYPE_CHECKING:
    from torch_mlir.dialects import ext, transform
    from torch_mlir.dialects.ext import Operand, Result

    class DialectBase:
        """The interface that the bindings give to a class that declares a dialect."""

        DIALECT_NAMESPACE: str
        _mlir_module: ir.Module | None

        def __init_subclass__(cls, name: str) -> None: ...

        class Operation(ir.OpView):
            """The base of the dialect's ops."""

            def __init_subclass__(cls, name: str = "") -> None: ...

        class Attribute(ir.DynamicAttr):
            """The base of the dialect's attributes."""

            def __init_subclass__(cls, name: str) -> None: ...

            @classmethod
            def get(cls, *parts: Any) -> ir.Attribute:
                """The attribute of these parameters, in the current context."""

        @classmethod
        def load(cls) -> None:
            """Make the dialect known to the current context."""
else:
    ext = dialect("ext")
    transform = dialect("transform")
    Operand, Result = ext.Operand, ext.Result
    DialectBase = ext.Dialect


class Morello(DialectBase, name="morello"):
    """Spec ops, the kernel op, and the attributes that describe operands."""


__all__ = ["DialectBase", "Morello", "Operand", "Result", "ext", "transform"]
