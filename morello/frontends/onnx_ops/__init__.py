"""A graph of ONNX, before it is imported: constants, functions, smaller ops.

inputs.py    inputs that are constants, and the shapes of the others
folding.py   what is known before a call: `folded`
branches.py  `If` by data: `without_branches`
reads.py     inputs and attributes that nothing reads are refused
results.py   results have the types that the graph declares
slices.py    rules of `onnx_expansion` for slices
"""
