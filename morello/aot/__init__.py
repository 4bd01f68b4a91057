"""Kernels as files that C and C++ programs link: no Python at run time.

`library.py` is the entry point: a `Library` is a kernel under a name of C's, and
`Library.save` writes it as an object, assembly, LLVM IR or the header that goes with
them. `c_names.py` says which names will do, `entry_points.py` writes the functions
around the kernel, and those that pack weights, as LLVM IR,
`header.py` the header; `variants.py` makes one library of kernels for several CPUs,
`bundle.py` one object of several kernels.

Invariants: the kernel is the same code that runs in this process; nothing of it runs
before the CPU is checked; an object needs only the features that its header names.
"""
