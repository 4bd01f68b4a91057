"""Flags of mlir-opt that the Python bindings of MLIR cannot serve, with the reasons.

A flag that is refused by name is no riddle; a flag that is taken and does nothing would
be one.
"""

from morello.tools.input_output import UsageError

_PRINTER = "the bindings give no such option of MLIR's printer"
_CXX = "it loads a C++ library into mlir-opt, which these bindings cannot do"
_DEBUGGER = "it serves mlir-opt under a C++ debugger"
_REMARKS = "the bindings do not hand on the remarks of passes"
_GENERIC = "--mlir-print-op-generic and --mlir-print-local-scope change the form"

REFUSED = {
    "elide-resource-data-from-bytecode": (
        "the bindings write resources as they are",
        "--mlir-elide-resource-strings-if-larger=N leaves them out of text",
    ),
    "emit-bytecode-producer": ("the bindings always write their own producer", ""),
    "load-dialect-plugin": (_CXX, "--irdl-file=FILE adds dialects written in IRDL"),
    "log-mlir-actions-filter": (
        "the bindings do not tell where actions come from",
        "--log-actions-to=FILE logs those of passes",
    ),
    "mlir-debug-counter": (_DEBUGGER, "-p with fewer passes narrows a fault down"),
    "mlir-enable-debugger-hook": (_DEBUGGER, "--log-actions-to=FILE lists the actions"),
    "mlir-output-format": ("the bindings report times as text alone", ""),
    "mlir-pass-pipeline-local-reproducer": (
        "a reproducer here has the whole pipeline",
        "--mlir-pass-pipeline-crash-reproducer=FILE writes it",
    ),
    "mlir-print-debug-counter": (_DEBUGGER, ""),
    "mlir-print-elementsattrs-with-hex-if-larger": (
        _PRINTER,
        "--mlir-elide-elementsattrs-if-larger=N leaves large elements out",
    ),
    "mlir-print-stacktrace-on-diagnostic": (
        "the bindings do not tell where in MLIR's C++ an error arises",
        "--mlir-print-ir-after-failure shows the IR at that point",
    ),
    "mlir-print-unique-ssa-ids": (_PRINTER, _GENERIC),
    "mlir-print-value-users": (_PRINTER, "--view-op-graph draws the users as a graph"),
    "mlir-reproducer-before-all": (
        "a reproducer is written once a run",
        "--mlir-generate-reproducer=FILE writes it",
    ),
    "mlir-very-unsafe-disable-verifier-on-parsing": (
        "the parser of the bindings always verifies",
        "an op of an unknown dialect is not verified: --allow-unregistered-dialect",
    ),
    "profile-actions-to": ("", "--log-actions-to=FILE writes the same as lines"),
    "pass-remarks": (_REMARKS, ""),
    "pass-remarks-analysis": (_REMARKS, ""),
    "pass-remarks-missed": (_REMARKS, ""),
    "remark-format": (_REMARKS, ""),
    "remark-policy": (_REMARKS, ""),
    "remarks-filter": (_REMARKS, ""),
    "remarks-filter-analyse": (_REMARKS, ""),
    "remarks-filter-failed": (_REMARKS, ""),
    "remarks-filter-missed": (_REMARKS, ""),
    "remarks-filter-passed": (_REMARKS, ""),
    "remarks-section": (_REMARKS, ""),
    "remarks-output-file": (_REMARKS, ""),
}


def check_flag(spelled: str, name: str) -> None:
    """Refuse a flag of mlir-opt that morello-opt does not have.

    Args:
        spelled: as it is given.
        name: without dashes.

    Raises:
        UsageError: it is one.
    """
    if name not in REFUSED:
        return
    reason, remedy = REFUSED[name]
    raise UsageError(
        f"morello-opt: error: {spelled} is a flag of mlir-opt that morello-opt has not"
        f"{f': {reason}' if reason else ''}",
        remedy or "leave it out",
    )
