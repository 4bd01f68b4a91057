"""The layers of real models, ours beside the peers: ``python -m benchmarks.models``.

Read `layers.py` for what is measured. Products are timed by `products.py`, as
`benchmarks.peers` does; graphs by `graphs.py`, beside PyTorch in one process.
"""
