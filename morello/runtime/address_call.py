"""Calls of native functions on addresses: for arrays that others have checked.

`address_call` is the entry point. What it returns takes a Python number for each array
and nothing else, takes a workspace, and runs the function without Python's lock: a
tenth of a microsecond more than the function itself.
"""

import functools
from collections.abc import Callable

from morello.machine.architectures import HOST
from morello.runtime.call_code import declarations
from morello.runtime.call_table import CallTable, Word
from morello.runtime.engine import compile_llvm
from morello.runtime.machine_call import Method, builtin, keep, method
from morello.runtime.shared_code import call_in_team, fill, teams, workspaces

FASTCALL = 0x0080
"""How a built-in function is called (METHFASTCALL), part of Python's C interface."""

_CALL = """
declare ptr @PyLong_AsVoidPtr(ptr)

define ptr @call(ptr %self, ptr %args, i64 %nargs) {
entry:
  %table = call ptr @item_data(ptr %self, i64 0)
  %result = call ptr @PyTuple_GetItem(ptr %self, i64 1)
{loads}
  %native = call ptr @field(ptr %table, i64 {native})
{take}
  %state = call ptr @PyEval_SaveThread()
{call}
  call void @PyEval_RestoreThread(ptr %state)
{give}
  call void @Py_IncRef(ptr %result)
  ret ptr %result
{failed}
}
"""

_LOAD = """\
  %a{i}.at = getelementptr ptr, ptr %args, i64 {i}
  %a{i} = load ptr, ptr %a{i}.at
  %p{i} = call ptr @PyLong_AsVoidPtr(ptr %a{i})"""

TAKE = """\
  %workspace = call ptr @take(ptr %table)
  %nothing.left = icmp eq ptr %workspace, null
  br i1 %nothing.left, label %failed, label %enough
enough:"""
"""A workspace, where the native function takes one."""

_FAILED = """\
failed:
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error"""


@functools.cache
def _code(arrays: int, has_workspace: bool, has_threads: bool) -> Method:
    """The code for native functions of one form; compiled once, never freed."""
    pointers = [f"ptr %p{i}" for i in range(arrays)] + [
        "ptr %workspace"
    ] * has_workspace
    call = f"  call void %native({', '.join(pointers)})"
    text = declarations()
    if has_threads:
        call = call_in_team(call)
        text += teams()
    text += workspaces()
    text += fill(
        _CALL,
        loads="\n".join(fill(_LOAD, i=i) for i in range(arrays)),
        native=8 * Word.NATIVE,
        take=TAKE if has_workspace else "",
        give="  call void @give(ptr %table, ptr %workspace)" if has_workspace else "",
        failed=_FAILED if has_workspace else "",
        call=call,
    )
    engine = compile_llvm(text, cpu=HOST.base_cpu, opt=1)
    keep(engine)
    return method(b"kernel_on_addresses", engine.address("call"), FASTCALL)


def address_call(
    table: CallTable, has_workspace: bool, has_threads: bool
) -> Callable[..., None]:
    """A function of an address for each array: nothing is checked.

    Args:
        table: of the native function; kept alive, unlike the function itself.
        has_workspace: the native function takes a workspace after the arrays.
        has_threads: it may use several threads.

    Raises:
        MemoryError: of the function, for the workspace.
    """
    code = _code(len(table.parameters), has_workspace, has_threads)
    return builtin(code, (table.words, None, table))
