"""LLVM IR that reads an array by its ``__array_interface__``, a dictionary of Python:
https://numpy.org/doc/stable/reference/arrays.interface.html.
"""

from morello.runtime import foreign_types
from morello.runtime.foreign_types import Field, Name
from morello.runtime.shared_code import fill

_INTERFACE = """
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyUnicode_GetLength(ptr)
declare ptr @PyUnicode_AsUTF8(ptr)

define internal ptr @key(ptr %dict, ptr %names, i64 %index) {
entry:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %index)
  %value = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %name)
  ret ptr %value
}

define internal i64 @interface(ptr %object, ptr %type, ptr %entry.of, i64 %writes,
                               ptr %tensor, ptr %buffer) {
entry:
  %names = call ptr @field(ptr %type, i64 {names})
  %attribute = call ptr @PyTuple_GetItem(ptr %names, i64 {whole})
  %dict = call ptr @PyObject_GetAttr(ptr %object, ptr %attribute)
  %failed = icmp eq ptr %dict, null
  br i1 %failed, label %error, label %read
error:
  call void @PyErr_Clear()
  ret i64 0
read:
  %unit = call i64 @read_interface(ptr %dict, ptr %type, ptr %names, ptr %entry.of,
                                   i64 %writes, ptr %tensor, ptr %buffer)
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %dict)
  ret i64 %unit
}

define internal i64 @read_interface(ptr %dict, ptr %type, ptr %names, ptr %entry.of,
                                    i64 %writes, ptr %tensor, ptr %buffer) {
entry:
  %none = call ptr @PyTuple_GetItem(ptr %names, i64 {none})
  %mask = call ptr @key(ptr %dict, ptr %names, i64 {mask})
  %no.mask = icmp eq ptr %mask, null
  br i1 %no.mask, label %data, label %no
data:
  %pair = call ptr @key(ptr %dict, ptr %names, i64 {data})
  %has.pair = icmp ne ptr %pair, null
  br i1 %has.pair, label %pair.size, label %no
pair.size:
  %two = call i64 @PyTuple_Size(ptr %pair)
  %is.two = icmp eq i64 %two, 2
  br i1 %is.two, label %address, label %no
address:
  %number = call ptr @PyTuple_GetItem(ptr %pair, i64 0)
  %start = call ptr @PyLong_AsVoidPtr(ptr %number)
  %start.number = ptrtoint ptr %start to i64
  %itemsize.at = getelementptr i64, ptr %entry.of, i64 6
  %itemsize = load i64, ptr %itemsize.at
  %low.mask = sub i64 %itemsize, 1
  %low = and i64 %start.number, %low.mask
  %aligned = icmp eq i64 %low, 0
  %somewhere = icmp ne ptr %start, null
  %good = and i1 %aligned, %somewhere
  br i1 %good, label %written, label %no
written:
  store ptr %start, ptr %tensor
  %only.read = icmp eq i64 %writes, 0
  br i1 %only.read, label %elements, label %allowed
allowed:
  %read.only = call ptr @PyTuple_GetItem(ptr %pair, i64 1)
  %false = call ptr @field(ptr %type, i64 {false})
  %may = icmp eq ptr %read.only, %false
  br i1 %may, label %elements, label %no
elements:
  %typestr = call ptr @key(ptr %dict, ptr %names, i64 {typestr})
  %has.typestr = icmp ne ptr %typestr, null
  br i1 %has.typestr, label %letters, label %no
letters:
  %length = call i64 @PyUnicode_GetLength(ptr %typestr)
  %three = icmp eq i64 %length, 3
  br i1 %three, label %letter, label %no
letter:
  %text = call ptr @PyUnicode_AsUTF8(ptr %typestr)
  %is.text = icmp ne ptr %text, null
  br i1 %is.text, label %compare, label %no
compare:
  %found.int = load i32, ptr %text, align 1
  %found = zext i32 %found.int to i64
  %wanted.at = getelementptr i64, ptr %entry.of, i64 9
  %wanted = load i64, ptr %wanted.at
  %same = icmp eq i64 %found, %wanted
  br i1 %same, label %shape, label %no
shape:
  %sizes.given = call ptr @key(ptr %dict, ptr %names, i64 {shape.name})
  %has.sizes = icmp ne ptr %sizes.given, null
  br i1 %has.sizes, label %axes, label %no
axes:
  %rank = call i64 @PyTuple_Size(ptr %sizes.given)
  %fits = icmp ule i64 %rank, {most}
  br i1 %fits, label %ranked, label %no
ranked:
  %rank.int = trunc i64 %rank to i32
  %rank.to = getelementptr i8, ptr %tensor, i64 {rank}
  store i32 %rank.int, ptr %rank.to
  %sizes = getelementptr i64, ptr %buffer, i64 2
  %sizes.to = getelementptr i8, ptr %tensor, i64 {shape}
  store ptr %sizes, ptr %sizes.to
  %steps = getelementptr i64, ptr %sizes, i64 {most}
  %steps.to = getelementptr i8, ptr %tensor, i64 {strides}
  store ptr %steps, ptr %steps.to
  %steps.given = call ptr @key(ptr %dict, ptr %names, i64 {strides.name})
  %absent = icmp eq ptr %steps.given, null
  %is.none = icmp eq ptr %steps.given, %none
  %dense = or i1 %absent, %is.none
  br i1 %dense, label %loop, label %steps.rank
steps.rank:
  %steps.count = call i64 @PyTuple_Size(ptr %steps.given)
  %as.many = icmp eq i64 %steps.count, %rank
  br i1 %as.many, label %loop, label %no
loop:
  %left = phi i64 [ %rank, %ranked ], [ %rank, %steps.rank ], [ %i, %on ]
  %step.dense = phi i64 [ %itemsize, %ranked ], [ %itemsize, %steps.rank ],
                        [ %step.next, %on ]
  %end = icmp eq i64 %left, 0
  br i1 %end, label %yes, label %dimension
dimension:
  %i = sub i64 %left, 1
  %size.object = call ptr @PyTuple_GetItem(ptr %sizes.given, i64 %i)
  %size = call i64 @PyLong_AsLongLong(ptr %size.object)
  %size.at = getelementptr i64, ptr %sizes, i64 %i
  store i64 %size, ptr %size.at
  %step.next = mul i64 %step.dense, %size
  br i1 %dense, label %on, label %given
given:
  %step.object = call ptr @PyTuple_GetItem(ptr %steps.given, i64 %i)
  %step.given = call i64 @PyLong_AsLongLong(ptr %step.object)
  br label %on
on:
  %step = phi i64 [ %step.dense, %dimension ], [ %step.given, %given ]
  %step.at = getelementptr i64, ptr %steps, i64 %i
  store i64 %step, ptr %step.at
  br label %loop
yes:
  ret i64 1
no:
  ret i64 0
}
"""


def interface_function() -> str:
    """LLVM IR of ``interface(object, type, entry, writes, tensor, buffer)``.

    It fills a ``DLTensor``, whose sizes and strides, in bytes, it keeps in the buffer
    from its third word on; nobody owns the buffer. It answers with 1, or with 0 where
    the dictionary is not the usual one or not of the parameter's elements.
    """
    return fill(
        _INTERFACE,
        **{
            "most": foreign_types.MOST_AXES,
            "names": 8 * Field.NAMES,
            "false": 8 * Field.FALSE,
            "rank": foreign_types.RANK,
            "shape": foreign_types.SHAPE,
            "strides": foreign_types.STRIDES,
            "whole": int(Name.WHOLE),
            "data": int(Name.DATA),
            "typestr": int(Name.TYPESTR),
            "shape.name": int(Name.SHAPE),
            "strides.name": int(Name.STRIDES),
            "mask": int(Name.MASK),
            "none": int(Name.NONE),
        },
    )
