"""From a Spec to a kernel: targets, searches, stages, and the kernel.

Read `compile` first, then `stages` (from a Spec to LLVM IR, each stage as text) and
`kernel` (the result). `target_choice` and `threads` decide what an argument leaves out;
`packing` makes arguments in the layout that a kernel reads; `hand_schedule` reads a
schedule as a program, and `pinning` makes every search keep to one.
"""
