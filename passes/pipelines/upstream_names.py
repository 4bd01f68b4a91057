"""Names of upstream passes, for spelling hints and ``--list-passes``.

The bindings cannot list the registered passes. Any registered pass may be used, whether
or not it is named here; a test checks that each of these is registered.
"""

UPSTREAM_NAMES: tuple[str, ...] = (
    "affine-expand-index-ops", "affine-loop-fusion",
    "affine-loop-invariant-code-motion", "affine-loop-normalize", "affine-loop-tile",
    "affine-loop-unroll", "affine-loop-unroll-jam", "affine-scalrep",
    "affine-simplify-structures", "affine-super-vectorize",
    "arith-emulate-unsupported-floats", "arith-expand", "buffer-deallocation-pipeline",
    "buffer-hoisting", "buffer-loop-hoisting", "buffer-results-to-out-params",
    "canonicalize", "control-flow-sink", "convert-affine-for-to-gpu",
    "convert-arith-to-llvm", "convert-bufferization-to-memref", "convert-cf-to-llvm",
    "convert-complex-to-llvm", "convert-elementwise-to-linalg", "convert-func-to-llvm",
    "convert-index-to-llvm", "convert-linalg-to-affine-loops",
    "convert-linalg-to-loops", "convert-linalg-to-parallel-loops",
    "convert-math-to-funcs", "convert-math-to-libm", "convert-math-to-llvm",
    "convert-openmp-to-llvm", "convert-scf-to-cf", "convert-scf-to-openmp",
    "convert-to-llvm", "convert-ub-to-llvm", "convert-vector-to-llvm",
    "convert-vector-to-scf", "cse", "duplicate-function-elimination",
    "expand-strided-metadata", "finalize-memref-to-llvm", "fold-memref-alias-ops",
    "inline", "int-range-optimizations", "linalg-block-pack-matmul",
    "linalg-fold-unit-extent-dims", "linalg-fuse-elementwise-ops",
    "linalg-generalize-named-ops", "llvm-legalize-for-export",
    "loop-invariant-code-motion", "loop-invariant-subset-hoisting", "lower-affine",
    "lower-vector-mask", "lower-vector-multi-reduction", "math-expand-ops",
    "math-uplift-to-fma", "mem2reg", "memref-expand", "normalize-memrefs",
    "one-shot-bufferize", "print-ir", "print-op-stats", "promote-buffers-to-stack",
    "reconcile-unrealized-casts", "remove-dead-values",
    "resolve-ranked-shaped-type-result-dims", "resolve-shaped-type-result-dims",
    "scf-for-loop-canonicalization", "scf-for-loop-peeling",
    "scf-for-loop-range-folding", "scf-for-loop-specialization", "scf-for-to-while",
    "scf-forall-to-for", "scf-forall-to-parallel", "scf-parallel-loop-fusion",
    "scf-parallel-loop-specialization", "scf-parallel-loop-tiling", "sccp", "sroa",
    "strip-debuginfo", "symbol-dce", "symbol-privatize", "topological-sort",
    "transform-dialect-check-uses", "transform-interpreter",
    "transform-preload-library", "view-op-graph",
)  # fmt: skip
