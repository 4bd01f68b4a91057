"""LLVM IR that reads an array of another library, as its type says it to C.

`foreign_types.py` has the table of the types.
"""

from morello.runtime import foreign_types
from morello.runtime.call_table import Word
from morello.runtime.foreign_types import Field
from morello.runtime.interface_code import interface_function
from morello.runtime.shared_code import fill

_FOREIGN = """
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()

define internal i1 @is_false(ptr %given, ptr %false) {
entry:
  %failed = icmp eq ptr %given, null
  br i1 %failed, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
  %same = icmp eq ptr %given, %false
  call void @Py_DecRef(ptr %given)
  ret i1 %same
}

define internal i1 @is_plain(ptr %object, ptr %type) {
entry:
  %args = alloca ptr
  %false = call ptr @field(ptr %type, i64 {false})
  %gradient = call ptr @field(ptr %type, i64 {gradient})
  %asks = icmp ne ptr %gradient, null
  br i1 %asks, label %ask, label %yes
ask:
  %wanted = call ptr @PyObject_GetAttr(ptr %object, ptr %gradient)
  %unwanted = call i1 @is_false(ptr %wanted, ptr %false)
  br i1 %unwanted, label %sign, label %record
record:
  %recording = call ptr @field(ptr %type, i64 {recording})
  %records = call ptr @PyObject_Vectorcall(ptr %recording, ptr null, i64 0, ptr null)
  %silent = call i1 @is_false(ptr %records, ptr %false)
  br i1 %silent, label %sign, label %no
sign:
  %negated = call ptr @field(ptr %type, i64 {negated})
  store ptr %object, ptr %args
  %sign.given = call ptr @PyObject_VectorcallMethod(ptr %negated, ptr %args, i64 1,
                                                    ptr null)
  %positive = call i1 @is_false(ptr %sign.given, ptr %false)
  ret i1 %positive
yes:
  ret i1 true
no:
  ret i1 false
}

declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)

define internal i64 @export(ptr %object, ptr %entry.of, ptr %tensor, ptr %buffer) {
entry:
  %status = call i32 @PyObject_GetBuffer(ptr %object, ptr %buffer, i32 {buffer.flags})
  %good = icmp eq i32 %status, 0
  br i1 %good, label %read, label %error
error:
  %owner.at = getelementptr i8, ptr %buffer, i64 {buffer.owner}
  store ptr null, ptr %owner.at
  call void @PyErr_Clear()
  ret i64 0
read:
  %format = call ptr @field(ptr %buffer, i64 {buffer.format})
  %steps = call ptr @field(ptr %buffer, i64 {buffer.strides})
  %has.format = icmp ne ptr %format, null
  %has.steps = icmp ne ptr %steps, null
  %has.both = and i1 %has.format, %has.steps
  br i1 %has.both, label %compare, label %no
compare:
  %first = load i8, ptr %format
  %second = getelementptr i8, ptr %format, i64 1
  %is.marked = icmp eq i8 %first, {byte.order}
  %format.plain = select i1 %is.marked, ptr %second, ptr %format
  %letters = load i16, ptr %format.plain, align 1
  %letter = zext i16 %letters to i64
  %wanted.at = getelementptr i64, ptr %entry.of, i64 8
  %wanted = load i64, ptr %wanted.at
  %same = icmp eq i64 %letter, %wanted
  br i1 %same, label %fill, label %no
fill:
  %start = load ptr, ptr %buffer
  store ptr %start, ptr %tensor
  %rank.from = getelementptr i8, ptr %buffer, i64 {buffer.rank}
  %rank = load i32, ptr %rank.from
  %rank.to = getelementptr i8, ptr %tensor, i64 {rank}
  store i32 %rank, ptr %rank.to
  %sizes = call ptr @field(ptr %buffer, i64 {buffer.shape})
  %sizes.to = getelementptr i8, ptr %tensor, i64 {shape}
  store ptr %sizes, ptr %sizes.to
  %steps.to = getelementptr i8, ptr %tensor, i64 {strides}
  store ptr %steps, ptr %steps.to
  %number = ptrtoint ptr %start to i64
  %itemsize.at = getelementptr i64, ptr %entry.of, i64 6
  %itemsize = load i64, ptr %itemsize.at
  %mask = sub i64 %itemsize, 1
  %low = and i64 %number, %mask
  %aligned = icmp eq i64 %low, 0
  %unit = zext i1 %aligned to i64
  ret i64 %unit
no:
  ret i64 0
}

define internal i64 @describe(ptr %table, ptr %object, ptr %kind, ptr %entry.of,
                              i64 %writes, ptr %tensor, ptr %buffer) {
entry:
  %types = call ptr @field(ptr %table, i64 {types})
  %count = load i64, ptr %types
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %end = icmp eq i64 %i, %count
  br i1 %end, label %no, label %compare
compare:
  %words = mul i64 %i, {width}
  %place = add i64 %words, 1
  %type = getelementptr i64, ptr %types, i64 %place
  %candidate = load ptr, ptr %type
  %same = icmp eq ptr %candidate, %kind
  br i1 %same, label %found, label %on
on:
  %next = add i64 %i, 1
  br label %look
found:
  %may.at = getelementptr i64, ptr %type, i64 {may_write}
  %may = load i64, ptr %may.at
  %allowed = icmp uge i64 %may, %writes
  br i1 %allowed, label %ask, label %no
ask:
  %function = call ptr @field(ptr %type, i64 {describe})
  %exports = icmp eq ptr %function, null
  br i1 %exports, label %way, label %call
way:
  %names = call ptr @field(ptr %type, i64 {names})
  %no.names = icmp eq ptr %names, null
  br i1 %no.names, label %export, label %interface
interface:
  %read.unit = call i64 @interface(ptr %object, ptr %type, ptr %entry.of, i64 %writes,
                                   ptr %tensor, ptr %buffer)
  ret i64 %read.unit
export:
  %exported = call i64 @export(ptr %object, ptr %entry.of, ptr %tensor, ptr %buffer)
  ret i64 %exported
call:
  %status = call i32 %function(ptr %object, ptr %tensor)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %read, label %error
error:
  call void @PyErr_Clear()
  br label %no
read:
  %device.at = getelementptr i8, ptr %tensor, i64 {device}
  %device = load i32, ptr %device.at
  %near = icmp eq i32 %device, {cpu}
  %dtype.at = getelementptr i8, ptr %tensor, i64 {dtype}
  %dtype = load i32, ptr %dtype.at
  %wanted.at = getelementptr i64, ptr %entry.of, i64 7
  %wanted = load i64, ptr %wanted.at
  %dtype.long = zext i32 %dtype to i64
  %equal = icmp eq i64 %dtype.long, %wanted
  %steps = call ptr @field(ptr %tensor, i64 {strides})
  %has.steps = icmp ne ptr %steps, null
  %near.equal = and i1 %near, %equal
  %readable = and i1 %near.equal, %has.steps
  br i1 %readable, label %align, label %no
align:
  %data = load ptr, ptr %tensor
  %offset.at = getelementptr i8, ptr %tensor, i64 {offset}
  %offset = load i64, ptr %offset.at
  %start = getelementptr i8, ptr %data, i64 %offset
  store ptr %start, ptr %tensor
  %number = ptrtoint ptr %start to i64
  %itemsize.at = getelementptr i64, ptr %entry.of, i64 6
  %itemsize = load i64, ptr %itemsize.at
  %mask = sub i64 %itemsize, 1
  %low = and i64 %number, %mask
  %aligned = icmp eq i64 %low, 0
  br i1 %aligned, label %last, label %no
last:
  %plain = call i1 @is_plain(ptr %object, ptr %type)
  %unit = select i1 %plain, i64 %itemsize, i64 0
  ret i64 %unit
no:
  ret i64 0
}
"""


def foreign_functions() -> str:
    """LLVM IR of ``describe(table, object, type, entry, writes, tensor, buffer)``.

    It fills a ``DLTensor`` whose data is the first element, and answers with the unit
    of its strides in bytes; 0 unless the object's type is known, its elements are those
    of the parameter's entry, in the memory of the CPU, aligned, and no gradient of it
    is wanted. A buffer that has an owner then is to be released after the call.
    """
    offsets = {
        "buffer.flags": foreign_types.BUFFER_FLAGS,
        "buffer.owner": foreign_types.BUFFER_OWNER,
        "buffer.format": foreign_types.BUFFER_FORMAT,
        "buffer.rank": foreign_types.BUFFER_RANK,
        "byte.order": ord("="),
        "buffer.shape": foreign_types.BUFFER_SHAPE,
        "buffer.strides": foreign_types.BUFFER_STRIDES,
    }
    return interface_function() + fill(
        _FOREIGN,
        **offsets,
        rank=foreign_types.RANK,
        shape=foreign_types.SHAPE,
        types=8 * Word.FOREIGN_TYPES,
        width=foreign_types.WIDTH,
        may_write=int(Field.MAY_WRITE),
        describe=8 * Field.DESCRIBE,
        gradient=8 * Field.GRADIENT,
        recording=8 * Field.IS_RECORDING,
        negated=8 * Field.IS_NEGATED,
        names=8 * Field.NAMES,
        false=8 * Field.FALSE,
        device=foreign_types.DEVICE,
        cpu=foreign_types.CPU,
        dtype=foreign_types.DTYPE,
        strides=foreign_types.STRIDES,
        offset=foreign_types.OFFSET,
    )
