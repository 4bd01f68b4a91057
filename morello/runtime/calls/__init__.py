"""Calls of native functions: checks of the arrays, then the machine code.

`function.py` is the entry point. Calls that fit go through C code, whose LLVM IR is in
the folder ``c`` and loaded by `glue.py`: `call_table.py` has the data that it reads,
`machine_call.py` the functions that Python calls, `foreign_types.py` the types of other
libraries that it knows. All else is checked by `arguments.py` against each `Parameter`
(`parameter.py`), takes arrays of other libraries by `foreign_arrays.py`, and is refused
in the words of `diagnose.py`.
"""
