"""Calls of a program on PyTorch's tensors, by machine code.

`group_call` is the entry point. What it returns takes tensors, looks where their
elements lie, makes tensors for the results, and runs the program without Python's lock.
It looks whether each weight that something was computed of is the object that it was,
in the same storage, and has not been changed since; if not, it calls the slow way,
which computes it anew and notes the weights as they are then. Of a model with a hundred
weights that is most of what a call costs: each lies in four lines of the cache, so that
no line is read which the program does not need.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from morello.runtime import array_layout
from morello.runtime.address_call import FASTCALL, TAKE
from morello.runtime.call_code import declarations
from morello.runtime.call_table import CallTable, Word
from morello.runtime.engine import compile_llvm
from morello.runtime.machine_call import Method, builtin, keep, method
from morello.runtime.shared_code import call_in_team, fill, teams, workspaces
from morello.torch.tensor_layout import Layout, layout

NOTE = 5
"""Words of a note of a weight: its place among the arguments, its object, its storage,
the elements before its first one there, its version."""

_TYPES = 2
"""Words before those of the arguments that are read, which are each one's place and the
bytes of its elements: the addresses of the classes that a tensor may have."""

Seen = tuple[Any, ...]
"""What was seen of weights: their notes, the addresses of what was computed of them,
and what has to live as long as these."""

_CALL = """
declare ptr @PyObject_Call(ptr, ptr, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare void @Py_DecRef(ptr)

define internal ptr @elements(ptr %object, i64 %itemsize) alwaysinline {
entry:
  %impl = call ptr @field(ptr %object, i64 {impl})
  %storage = call ptr @field(ptr %impl, i64 {storage})
  %nothing = icmp eq ptr %storage, null
  br i1 %nothing, label %none, label %some
none:
  ret ptr null
some:
  %start = call ptr @field(ptr %storage, i64 {data})
  %offset.at = getelementptr i8, ptr %impl, i64 {offset}
  %offset = load i64, ptr %offset.at
  %bytes = mul i64 %offset, %itemsize
  %first = getelementptr i8, ptr %start, i64 %bytes
  ret ptr %first
}

define ptr @call(ptr %self, ptr %args, i64 %nargs) {
entry:
  %pointers = alloca [{own} x ptr]
  %table = call ptr @item_data(ptr %self, i64 0)
  %types = call ptr @item_data(ptr %self, i64 1)
  %box = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %plain = call ptr @field(ptr %types, i64 0)
  %weight = call ptr @field(ptr %types, i64 8)
  %forms.read = getelementptr i64, ptr %types, i64 {types}
  %complete = icmp eq i64 %nargs, {inputs}
  br i1 %complete, label %look, label %slow
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %put ]
  %i.end = icmp eq i64 %i, {reads}
  br i1 %i.end, label %weights, label %argument
argument:
  %own.word = mul i64 %i, 2
  %own.at = getelementptr i64, ptr %forms.read, i64 %own.word
  %own = load i64, ptr %own.at
  %size.at = getelementptr i64, ptr %own.at, i64 1
  %size = load i64, ptr %size.at
  %object.at = getelementptr ptr, ptr %args, i64 %own
  %object = load ptr, ptr %object.at
  %type = call ptr @field(ptr %object, i64 {type})
  %is.plain = icmp eq ptr %type, %plain
  %is.weight = icmp eq ptr %type, %weight
  %is.tensor = or i1 %is.plain, %is.weight
  br i1 %is.tensor, label %read, label %slow
read:
  %pointer = call ptr @elements(ptr %object, i64 %size)
  %is.null = icmp eq ptr %pointer, null
  br i1 %is.null, label %slow, label %put
put:
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %own
  store ptr %pointer, ptr %pointer.at
  %i.next = add i64 %i, 1
  br label %look
weights:
  %seen = call ptr @PyList_GetItem(ptr %box, i64 0)
  %notes = call ptr @item_data(ptr %seen, i64 0)
  br label %compare
compare:
  %w = phi i64 [ 0, %weights ], [ %w.next, %same ]
  %w.end = icmp eq i64 %w, {watched}
  br i1 %w.end, label %fits, label %note
note:
  %note.word = mul i64 %w, {note}
  %note.at = getelementptr i64, ptr %notes, i64 %note.word
  %place = load i64, ptr %note.at
  %noted = call ptr @field(ptr %note.at, i64 8)
  %given.at = getelementptr ptr, ptr %args, i64 %place
  %given = load ptr, ptr %given.at
  %same.object = icmp eq ptr %given, %noted
  br i1 %same.object, label %tensor, label %slow
tensor:
  %given.impl = call ptr @field(ptr %given, i64 {impl})
  %counter = call ptr @field(ptr %given.impl, i64 {counter})
  %uncounted = icmp eq ptr %counter, null
  br i1 %uncounted, label %slow, label %versions
versions:
  %version.at = getelementptr i8, ptr %counter, i64 {version}
  %version.int = load i32, ptr %version.at
  %version = zext i32 %version.int to i64
  %noted.version.at = getelementptr i8, ptr %note.at, i64 32
  %noted.version = load i64, ptr %noted.version.at
  %same.version = icmp eq i64 %version, %noted.version
  %storage = call ptr @field(ptr %given.impl, i64 {storage})
  %noted.storage = call ptr @field(ptr %note.at, i64 16)
  %same.storage = icmp eq ptr %storage, %noted.storage
  %offset.at = getelementptr i8, ptr %given.impl, i64 {offset}
  %offset = load i64, ptr %offset.at
  %noted.offset.at = getelementptr i8, ptr %note.at, i64 24
  %noted.offset = load i64, ptr %noted.offset.at
  %same.offset = icmp eq i64 %offset, %noted.offset
  %same.place = and i1 %same.storage, %same.offset
  %same.all = and i1 %same.place, %same.version
  br i1 %same.all, label %same, label %slow
same:
  %w.next = add i64 %w, 1
  br label %compare
fits:
  call void @Py_IncRef(ptr %seen)
  %held = call ptr @item_data(ptr %seen, i64 1)
  %empty = call ptr @PyTuple_GetItem(ptr %self, i64 3)
  %forms = call ptr @PyTuple_GetItem(ptr %self, i64 4)
  %result = call ptr @PyTuple_New(i64 {outputs})
  %no.result = icmp eq ptr %result, null
  br i1 %no.result, label %raised, label %results
results:
  %o = phi i64 [ 0, %fits ], [ %o.next, %output.put ]
  %o.end = icmp eq i64 %o, {outputs}
  br i1 %o.end, label %run, label %output
output:
  %form = call ptr @PyTuple_GetItem(ptr %forms, i64 %o)
  %made = call ptr @PyObject_Call(ptr %empty, ptr %form, ptr null)
  %no.output = icmp eq ptr %made, null
  br i1 %no.output, label %dropped, label %output.put
output.put:
  %ignored = call i32 @PyTuple_SetItem(ptr %result, i64 %o, ptr %made)
  %output.address = call ptr @elements(ptr %made, i64 0)
  %output.place = add i64 %o, {inputs}
  %output.at = getelementptr ptr, ptr %pointers, i64 %output.place
  store ptr %output.address, ptr %output.at
  %o.next = add i64 %o, 1
  br label %results
run:
{loads}
  %native = call ptr @field(ptr %table, i64 {native})
{take}
  %state = call ptr @PyEval_SaveThread()
{call}
  call void @PyEval_RestoreThread(ptr %state)
{give}
  call void @Py_DecRef(ptr %seen)
  ret ptr %result
dropped:
  call void @Py_DecRef(ptr %result)
  br label %raised
raised:
  call void @Py_DecRef(ptr %seen)
  ret ptr null
slow:
  %function = call ptr @PyTuple_GetItem(ptr %self, i64 5)
  %found = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %nargs,
                                         ptr null)
  ret ptr %found
{failed}
}
"""

_LOAD = """\
  %p{i}.at = getelementptr ptr, ptr %{where}, i64 {place}
  %p{i} = load ptr, ptr %p{i}.at"""

_FAILED = """\
failed:
  call void @Py_DecRef(ptr %result)
  call void @Py_DecRef(ptr %seen)
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error"""


@functools.cache
def _code(
    places: Layout,
    inputs: int,
    reads: frozenset[int],
    watched: int,
    held: int,
    outputs: int,
    has_workspace: bool,
    has_threads: bool,
) -> Method:
    """The code for programs of one form; compiled once, never freed."""
    own = [("pointers", i) for i in range(inputs + outputs)]
    given = [*own[:inputs], *(("held", i) for i in range(held)), *own[inputs:]]
    unread = {*range(inputs)} - reads
    loads = [
        fill(_LOAD, i=i, where=w, place=p)
        for i, (w, p) in enumerate(given)
        if i not in unread
    ]
    pointers = ["ptr null" if i in unread else f"ptr %p{i}" for i in range(len(given))]
    pointers += ["ptr %workspace"] * has_workspace
    call = f"  call void %native({', '.join(pointers)})"
    text = declarations()
    if has_threads:
        call = call_in_team(call)
        text += teams()
    text += workspaces()
    text += fill(
        _CALL,
        own=len(own),
        inputs=inputs,
        outputs=outputs,
        watched=watched,
        type=array_layout.TYPE,
        types=_TYPES,
        reads=len(reads),
        note=NOTE,
        impl=places.impl,
        storage=places.storage,
        data=places.data,
        offset=places.offset,
        counter=places.counter,
        version=places.version,
        loads="\n".join(loads),
        native=8 * Word.NATIVE,
        take=TAKE if has_workspace else "",
        give="  call void @give(ptr %table, ptr %workspace)" if has_workspace else "",
        failed=_FAILED if has_workspace else "",
        call=call,
    )
    engine = compile_llvm(text, cpu="x86-64", opt=1)
    keep(engine)
    return method(b"group", engine.address("call"), FASTCALL)


def group_call(
    table: CallTable,
    reads: frozenset[int],
    held: int,
    forms: Sequence[tuple[Any, ...]],
    empty: Callable[..., Any],
    box: list[Seen],
    slow: Callable[..., Any],
    *,
    has_workspace: bool,
    has_threads: bool,
) -> Callable[..., Any]:
    """A function of tensors without gaps that returns a tuple of new ones.

    Args:
        table: of the program, whose parameters are the arguments, what is held of
            weights, and the results.
        reads: the arguments that it reads, by number; what is held may be of others.
        held: how many arrays are held.
        forms: what ``empty`` takes for each result.
        empty: makes a tensor.
        box: has what was seen last, of as many weights as at first.
        slow: is called with the same arguments where a weight is not what was seen,
            or an argument is no plain tensor.
        has_workspace: the program takes a workspace.
        has_threads: it may use several threads.

    Returns:
        ``slow`` itself where it is not known where PyTorch keeps what is read.
    """
    places = layout()
    if places is None:
        return slow
    inputs = len(table.parameters) - held - len(forms)
    types = [id(torch.Tensor), id(torch.nn.Parameter)]
    for place in sorted(reads):
        types += [place, table.parameters[place].dtype.itemsize]
    code = _code(
        places,
        inputs,
        reads,
        len(box[0][0]) // NOTE,
        held,
        len(forms),
        has_workspace,
        has_threads,
    )
    given = (
        table.words,
        np.array(types, np.int64),
        box,
        empty,
        tuple(forms),
        slow,
        table,
    )
    return builtin(code, given)
