"""A graph of ONNX, before it is imported: constants, functions, smaller ops.

    inputs.py     inputs that are constants, and the shapes of the others
    functions.py  one version of the operators; functions are written out
    folding.py    what is known before a call: `folded`
    branches.py   `If` by data: `without_branches`
    loops.py      `Scan` and `Loop` of few trips: `without_loops`
    implied.py    parameters that are inputs, and follow from shapes
    reads.py      inputs and attributes that nothing reads are refused
    culprits.py   why a model cannot be imported
    results.py    results have the types that the graph declares

Rules of `onnx_expansion`, each for an op:

    attention.py  products, softmax and masks
    places.py     picks, divides and joins elements
    pools.py      averages, maxima and their places, norms of windows
    products.py   products, transposed convolutions, transforms
    recurrent.py  recurrences backwards and in both directions
    resizing.py   `Resize`
    sampling.py   `GridSample`
    slices.py     `Slice`
    stable.py     functions that the importer computes with less care
"""
