"""A graph of ONNX, before it is imported: constants, functions, smaller ops.

inputs.py    inputs that are constants, and the shapes of the others
folding.py   what is known before a call: `folded`
branches.py  `If` by data: `without_branches`
"""
