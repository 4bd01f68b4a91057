"""A graph of ONNX, before it is imported: constants, functions, smaller ops.

    folding.py    what is known before a call: `folded`
    functions.py  ops that the standard defines by others: `inlined`
"""
