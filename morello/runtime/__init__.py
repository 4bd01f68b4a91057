"""The back end: a module of MLIR to machine code that NumPy arrays can be given to.

The way, each step a module: `translate.py` lowers a module and takes it to LLVM IR text
(`llvm_ir.py`, then `llvm_text.py` for the older LLVM of llvmlite); `engine.py` compiles
the text and loads the object, after `object_file.py` and `morello.machine.host` have
said that this process and this CPU can run it; the functions of the folder `calls`
check arrays and call it. `peak.py` measures the peak of the machine.

Invariants: nothing here ends the process on a user's mistake; nothing is copied; who
holds a `NativeFunction` holds its code; the same module gives the same object.
"""
