"""LLVM IR of calls from Python: checks of the arrays, then the native function.

`call_module` is the entry point; `shared_code.py` has what calls share. What it writes
depends on how many arrays a function takes, of which a call says how far the rows are
apart, and on whether it has a workspace and threads; all else is in a table that is
made for each function (`call_table.py`), so that few modules serve all kernels of a
process.

Three functions come out:

- ``call(self, args, nargs, names)``: what Python calls (``METH_FASTCALL |
  METH_KEYWORDS``). Arguments that fit are run; all else is handed to the slow way,
  which allows more, and words the refusals.
- ``bound(self, nothing)``: the same for arrays that were checked before
  (``METH_NOARGS``).
- ``run(table, addresses)``: for ctypes; 0, or 1 where there is no memory.

Python's lock is held while arguments are checked and released while the function runs.
Nothing of an argument is kept after a call: the caller holds it.

Functions with threads of their own share the processors: one that would need more than
the others leave runs on the thread that calls it, since more threads than processors
make each of them slower. OpenMP does that where no level of parallelism may be active.
"""

from morello.runtime import array_layout, foreign_types
from morello.runtime.call_table import ANY_ROW, FORMS, Word
from morello.runtime.foreign_code import foreign_functions
from morello.runtime.shared_code import call_in_team, fill, teams, workspaces

_DECLARATIONS = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare ptr @aligned_alloc(i64, i64)
declare i32 @madvise(ptr, i64, i32)
declare void @free(ptr)

define internal ptr @field(ptr %object, i64 %offset) alwaysinline {
  %place = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %place
  ret ptr %value
}

define internal ptr @item_data(ptr %tuple, i64 %index) alwaysinline {
  %array = call ptr @PyTuple_GetItem(ptr %tuple, i64 %index)
  %data = call ptr @field(ptr %array, i64 {data})
  ret ptr %data
}
"""

_SHAPE_FITS = """
define internal i1 @shape_fits(i32 %rank.int, ptr %sizes, ptr %steps, i64 %unit,
                               ptr %shapes, i64 %count{row.given}) {
entry:
  %rank = sext i32 %rank.int to i64
  br label %shape
shape:
  %at = phi ptr [ %shapes, %entry ], [ %after, %next ]
  %left = phi i64 [ %count, %entry ], [ %fewer, %next ]
  %wanted = load i64, ptr %at
  %first = getelementptr i64, ptr %at, i64 1
  %first.step = getelementptr i64, ptr %first, i64 %wanted
  %after = getelementptr i64, ptr %first.step, i64 %wanted
  %same = icmp eq i64 %rank, %wanted
{row.default}
  br i1 %same, label %dimension, label %next
dimension:
  %i = phi i64 [ 0, %shape ], [ %more, %fits ]
  %end = icmp eq i64 %i, %rank
  br i1 %end, label %yes, label %compare
compare:
  %x.at = getelementptr i64, ptr %sizes, i64 %i
  %y.at = getelementptr i64, ptr %first, i64 %i
  %x = load i64, ptr %x.at
  %y = load i64, ptr %y.at
  %match = icmp eq i64 %x, %y
  br i1 %match, label %equal, label %next
equal:
  %is.one = icmp eq i64 %y, 1
  br i1 %is.one, label %fits, label %step
step:
  %s.at = getelementptr i64, ptr %steps, i64 %i
  %t.at = getelementptr i64, ptr %first.step, i64 %i
  %s.units = load i64, ptr %s.at
  %s = mul i64 %s.units, %unit
  %t = load i64, ptr %t.at
{row.take}
  %steps.match = icmp eq i64 %s, %t
  br i1 %steps.match, label %fits, label %next
fits:
  %more = add i64 %i, 1
  br label %dimension
next:
  %fewer = sub i64 %left, 1
  %none = icmp eq i64 %fewer, 0
  br i1 %none, label %no, label %shape
yes:
  ret i1 true
no:
  ret i1 false
}
"""

_ROW_TAKE = """\
  %is.row = icmp eq i64 %t, {any_row}
  br i1 %is.row, label %take.row, label %fixed
take.row:
  store i64 %s, ptr %row.at
  br label %fits
fixed:"""
"""Where any stride will do, it is the bytes from row to row."""

_RUN = """
define i32 @run(ptr %table, ptr %addresses) {
entry:
{loads}
  %native = call ptr @field(ptr %table, i64 {native})
{take}
{call}
{give}
  ret i32 0
{failed}
}
"""

_BOUND = """
define ptr @bound(ptr %self, ptr %nothing) {
entry:
  %table = call ptr @item_data(ptr %self, i64 0)
  %addresses = call ptr @item_data(ptr %self, i64 1)
  %result = call ptr @PyTuple_GetItem(ptr %self, i64 2)
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

_CALL = """
define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %names) {
entry:
{slots}
  %table = call ptr @item_data(ptr %self, i64 0)
  %positional = icmp eq ptr %names, null
  br i1 %positional, label %count, label %named
count:
  %all = icmp eq i64 %nargs, {arrays}
  br i1 %all, label %check0, label %slow
named:
  %inputs = icmp eq i64 %nargs, {inputs}
  br i1 %inputs, label %keyword, label %slow
keyword:
  %size = call i64 @PyTuple_Size(ptr %names)
  %one = icmp eq i64 %size, 1
  br i1 %one, label %name, label %slow
name:
  %given = call ptr @PyTuple_GetItem(ptr %names, i64 0)
  %out = call ptr @field(ptr %table, i64 {out})
  %known = icmp eq ptr %given, %out
  br i1 %known, label %check0, label %slow
{checks}
disjoint:
{disjoint}
run:
  %native = call ptr @field(ptr %table, i64 {native})
{take}
  %state = call ptr @PyEval_SaveThread()
{call}
  call void @PyEval_RestoreThread(ptr %state)
{give}
{release}
  call void @Py_IncRef(ptr %a{inputs})
  ret ptr %a{inputs}
slow:
{release}
  %other = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %answer = call ptr @PyObject_Vectorcall(ptr %other, ptr %args, i64 %nargs, ptr %names)
  ret ptr %answer
{failed}
}
"""

_CHECK = """
check{i}:
  %a{i}.at = getelementptr ptr, ptr %args, i64 {i}
  %a{i} = load ptr, ptr %a{i}.at
  %type{i} = call ptr @field(ptr %a{i}, i64 {type})
  %array{i} = call ptr @field(ptr %table, i64 {array})
  %is{i} = icmp eq ptr %type{i}, %array{i}
  %e{i} = call ptr @field(ptr %table, i64 {entry})
  br i1 %is{i}, label %memory{i}, label %foreign{i}
memory{i}:
  %dtype{i} = call ptr @field(ptr %a{i}, i64 {dtype})
  %dtype.wanted{i} = load ptr, ptr %e{i}
  %dtype.same{i} = icmp eq ptr %dtype{i}, %dtype.wanted{i}
  %flags.at{i} = getelementptr i8, ptr %a{i}, i64 {flags}
  %flags.int{i} = load i32, ptr %flags.at{i}
  %flags{i} = zext i32 %flags.int{i} to i64
  %mask.at{i} = getelementptr i64, ptr %e{i}, i64 1
  %mask{i} = load i64, ptr %mask.at{i}
  %set{i} = and i64 %flags{i}, %mask{i}
  %flags.same{i} = icmp eq i64 %set{i}, %mask{i}
  %memory.same{i} = and i1 %dtype.same{i}, %flags.same{i}
  %rank.at{i} = getelementptr i8, ptr %a{i}, i64 {rank}
  %own.rank{i} = load i32, ptr %rank.at{i}
  %own.sizes{i} = call ptr @field(ptr %a{i}, i64 {shape})
  %own.steps{i} = call ptr @field(ptr %a{i}, i64 {strides})
  %own.data{i} = call ptr @field(ptr %a{i}, i64 {data})
  br i1 %memory.same{i}, label %shape{i}, label %slow
foreign{i}:
  %its.unit{i} = call i64 @describe(ptr %table, ptr %a{i}, ptr %type{i}, ptr %e{i},
                                    i64 {writes}, ptr %tensor, ptr %buffer{i})
  %its.rank.at{i} = getelementptr i8, ptr %tensor, i64 {tensor.rank}
  %its.rank{i} = load i32, ptr %its.rank.at{i}
  %its.sizes{i} = call ptr @field(ptr %tensor, i64 {tensor.shape})
  %its.steps{i} = call ptr @field(ptr %tensor, i64 {tensor.strides})
  %its.data{i} = load ptr, ptr %tensor
  %described{i} = icmp ne i64 %its.unit{i}, 0
  br i1 %described{i}, label %shape{i}, label %slow
shape{i}:
  %rank{i} = phi i32 [ %own.rank{i}, %memory{i} ], [ %its.rank{i}, %foreign{i} ]
  %sizes{i} = phi ptr [ %own.sizes{i}, %memory{i} ], [ %its.sizes{i}, %foreign{i} ]
  %strides{i} = phi ptr [ %own.steps{i}, %memory{i} ], [ %its.steps{i}, %foreign{i} ]
  %unit{i} = phi i64 [ 1, %memory{i} ], [ %its.unit{i}, %foreign{i} ]
  %p{i} = phi ptr [ %own.data{i}, %memory{i} ], [ %its.data{i}, %foreign{i} ]
  %count.at{i} = getelementptr i64, ptr %e{i}, i64 3
  %count{i} = load i64, ptr %count.at{i}
  %shapes{i} = getelementptr i64, ptr %e{i}, i64 {forms}
{fits}
bounds{i}:
{size}
  %end{i} = getelementptr i8, ptr %p{i}, i64 %size{i}
  br label %{after}"""

_FITS = """\
  %fits{i} = call i1 @shape_fits(i32 %rank{i}, ptr %sizes{i}, ptr %strides{i},
                                 i64 %unit{i}, ptr %shapes{i}, i64 %count{i}{spare})
  br i1 %fits{i}, label %bounds{i}, label %slow"""

_SIZE = """\
  %size.at{i} = getelementptr i64, ptr %e{i}, i64 2
  %size{i} = load i64, ptr %size.at{i}"""

_ROW_FITS = """\
  %whole.at{i} = getelementptr i64, ptr %e{i}, i64 4
  %whole{i} = load i64, ptr %whole.at{i}
  %fits{i} = call i1 @shape_fits(i32 %rank{i}, ptr %sizes{i}, ptr %strides{i},
                                 i64 %unit{i}, ptr %shapes{i}, i64 %count{i},
                                 ptr %row.at{i}, i64 %whole{i})
  br i1 %fits{i}, label %row.fits{i}, label %slow
row.fits{i}:
  %step{i} = load i64, ptr %row.at{i}
  %itemsize.at{i} = getelementptr i64, ptr %e{i}, i64 6
  %itemsize{i} = load i64, ptr %itemsize.at{i}
  %rest{i} = srem i64 %step{i}, %itemsize{i}
  %no.rest{i} = icmp eq i64 %rest{i}, 0
  %long{i} = icmp sge i64 %step{i}, %whole{i}
  %row.good{i} = and i1 %no.rest{i}, %long{i}
  br i1 %row.good{i}, label %bounds{i}, label %slow"""

_ROW_SIZE = """\
  %row{i} = sdiv i64 %step{i}, %itemsize{i}
  %more.at{i} = getelementptr i64, ptr %e{i}, i64 5
  %more{i} = load i64, ptr %more.at{i}
  %steps{i} = mul i64 %more{i}, %step{i}
  %size{i} = add i64 %steps{i}, %whole{i}"""

_APART = """
  %before{i} = icmp ult ptr %p{i}, %end{out}
  %within{i} = icmp ult ptr %p{out}, %end{i}
  %overlap{i} = and i1 %before{i}, %within{i}
  br i1 %overlap{i}, label %slow, label %{after}"""

_TAKE = """\
  %workspace = call ptr @take(ptr %table)
  %nothing.left = icmp eq ptr %workspace, null
  br i1 %nothing.left, label %failed, label %enough
enough:"""


def declarations() -> str:
    """LLVM IR of what calls from Python need of Python and of the C library."""
    return fill(_DECLARATIONS, data=array_layout.DATA)


def _shape_fits(rows: tuple[int, ...]) -> str:
    """The function that compares an array with the forms that are taken."""
    return fill(
        _SHAPE_FITS,
        **{
            "row.given": ", ptr %row.at, i64 %whole" if rows else "",
            "row.default": "  store i64 %whole, ptr %row.at" if rows else "",
            "row.take": fill(_ROW_TAKE, any_row=ANY_ROW) if rows else "",
        },
    )


def _checks(arrays: int, rows: tuple[int, ...]) -> str:
    """Blocks that let only arrays pass that fit their parameter."""
    spare = ", ptr %spare.at, i64 0" if rows else ""
    return "".join(
        fill(
            _CHECK,
            **{
                "fits": _ROW_FITS if i in rows else fill(_FITS, spare=spare),
                "size": _ROW_SIZE if i in rows else _SIZE,
                "i": i,
                "forms": FORMS,
                "type": array_layout.TYPE,
                "array": 8 * Word.ARRAY_TYPE,
                "entry": 8 * (Word.ENTRIES + i),
                "dtype": array_layout.DTYPE,
                "flags": array_layout.FLAGS,
                "rank": array_layout.RANK,
                "shape": array_layout.SHAPE,
                "strides": array_layout.STRIDES,
                "data": array_layout.DATA,
                "writes": int(i + 1 == arrays),
                "tensor.rank": foreign_types.RANK,
                "tensor.shape": foreign_types.SHAPE,
                "tensor.strides": foreign_types.STRIDES,
                "after": f"check{i + 1}" if i + 1 < arrays else "disjoint",
            },
        )
        for i in range(arrays)
    )


_RELEASE = """
define internal void @release(ptr %buffer) alwaysinline {
  %owner = call ptr @field(ptr %buffer, i64 {owner})
  %nothing = icmp eq ptr %owner, null
  br i1 %nothing, label %done, label %held
held:
  call void @PyBuffer_Release(ptr %buffer)
  br label %done
done:
  ret void
}
"""


def _buffers(arrays: int) -> str:
    """Memory for what each input exports by the buffer protocol: nothing yet."""
    return "\n".join(
        f"  %buffer{i} = alloca [{foreign_types.BUFFER_BYTES} x i8], align 8\n"
        f"  %owner{i} = getelementptr i8, ptr %buffer{i}, "
        f"i64 {foreign_types.BUFFER_OWNER}\n"
        f"  store ptr null, ptr %owner{i}"
        for i in range(arrays)
    )


def _slots(rows: tuple[int, ...]) -> str:
    """Memory for the description of an array of another library, and for the bytes
    from row to row of each array of which a call says it."""
    tensor = f"  %tensor = alloca [{foreign_types.TENSOR_BYTES} x i8], align 8"
    names = [f"row.at{i}" for i in rows] + ["spare.at"] * bool(rows)
    return "\n".join([tensor, *(f"  %{name} = alloca i64" for name in names)])


def _disjoint(arrays: int) -> str:
    """Blocks that let only an output pass that shares no byte with an input."""
    out = arrays - 1
    blocks = []
    for i in range(out):
        after = f"disjoint{i + 1}" if i + 1 < out else "run"
        label = f"disjoint{i}:" if i else ""
        blocks.append(label + fill(_APART, i=i, out=out, after=after))
    return "\n".join(blocks) or "  br label %run"


def call_module(
    arrays: int, has_workspace: bool, has_threads: bool, rows: tuple[int, ...] = ()
) -> str:
    """LLVM IR of the three functions for native functions of so many arrays.

    Args:
        arrays: at least 1; the last is the output.
        has_workspace: the native function takes a workspace after the arrays.
        has_threads: the native function may use several threads.
        rows: the arrays whose elements from row to row it takes, after all else; they
            stand after the addresses where those are given.
    """
    pointers = [f"ptr %p{i}" for i in range(arrays)]
    given = [("ptr", f"p{i}") for i in range(arrays)] + [
        ("i64", f"row{i}") for i in rows
    ]
    loads = "\n".join(
        f"  %{name}.at = getelementptr ptr, ptr %addresses, i64 {place}\n"
        f"  %{name} = load {kind}, ptr %{name}.at"
        for place, (kind, name) in enumerate(given)
    )
    shared: dict[str, str] = {
        "loads": loads,
        "native": str(8 * Word.NATIVE),
        "take": "",
        "give": "",
    }
    failed = {"run": "", "python": ""}
    if has_workspace:
        pointers.append("ptr %workspace")
        shared["take"] = _TAKE
        shared["give"] = "  call void @give(ptr %table, ptr %workspace)"
        failed["run"] = "failed:\n  ret i32 1"
        failed["python"] = (
            "failed:\n  %error = call ptr @PyErr_NoMemory()\n  ret ptr %error"
        )
    pointers += [f"i64 %row{i}" for i in rows]
    shared["call"] = f"  call void %native({', '.join(pointers)})"
    text = declarations()
    if has_threads:
        shared["call"] = call_in_team(shared["call"])
        text += teams()
    text += _shape_fits(rows) + workspaces() + foreign_functions()
    text += fill(_RELEASE, owner=foreign_types.BUFFER_OWNER)
    release = "\n".join(f"  call void @release(ptr %buffer{i})" for i in range(arrays))
    text += fill(_RUN, failed=failed["run"], **shared)
    text += fill(_BOUND, failed=failed["python"], **shared)
    return text + fill(
        _CALL,
        failed=failed["python"].replace("failed:", f"failed:\n{release}"),
        arrays=arrays,
        inputs=arrays - 1,
        out=8 * Word.OUT,
        checks=_checks(arrays, rows),
        slots=f"{_slots(rows)}\n{_buffers(arrays)}",
        release=release,
        disjoint=_disjoint(arrays),
        **shared,
    )
