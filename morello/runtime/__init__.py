"""The back end: a module of MLIR to machine code that NumPy arrays can be given to.

The way, each step a module: `translate.py` lowers a module and takes it to LLVM IR text
(`llvm_ir.py`, then `llvm_text.py` for the older LLVM of llvmlite); `engine.py` compiles
the text and loads the object, after `object_file.py` and `morello.machine.host` have
said that this process and this CPU can run it; `function.py` calls it, after
`arguments.py` has checked the arrays against each `Parameter` (`parameter.py`;
`diagnose.py` words the refusals). Calls that fit go another way, on which machine code
checks the arrays (`machine_call.py`, `call_table.py`, `array_layout.py`, `glue.py` and
the C in ``c``). `peak.py` measures the peak of the machine.

Invariants: nothing here ends the process on a user's mistake; nothing is copied; who
holds a `NativeFunction` holds its code; the same module gives the same object.
"""
