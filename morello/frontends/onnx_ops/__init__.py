"""A graph of ONNX, before it is imported: constants, functions, smaller ops.

    inputs.py     inputs that are constants, and the shapes of the others
    functions.py  one version of the operators; functions are written out
    contributed.py  ops of onnxruntime: `standard`
    folding.py    what is known before a call: `folded`
    branches.py   `If` by data: `without_branches`
    loops.py      `Scan` and `Loop` of few trips: `without_loops`
    implied.py    parameters that are inputs, and follow from shapes
    reads.py      inputs and attributes that nothing reads are refused
    culprits.py   why a model cannot be imported
    results.py    results have the types that the graph declares

`expanded.py` applies the rules of `rules/`, each with the ops that its first line
names.
"""
