"""Programs as exporters wrote them, unedited, and what they compute.

`linalg` is what torch-mlir wrote of PyTorch modules, `stablehlo` what JAX wrote.
"""
