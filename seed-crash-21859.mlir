// morello-opt seed-crash-21859.mlir
// morello-opt 0.1.0
// internal error in parsing the input (signal SIGSEGV)
// Fatal Python error: Segmentation fault
//
// Stack (most recent call first):
//   File "/work/wt/outside/morello/tools/opt_worker.py", line 214 in named
//   File "/work/wt/outside/morello/tools/opt_worker.py", line 187 in transformed
//   File "/work/wt/outside/morello/tools/opt_worker.py", line 171 in result
//   File "/work/wt/outside/morello/tools/opt_worker.py", line 93 in work
//   File "/work/wt/outside/morello/tools/opt_session.py", line 69 in job
//   File "/work/wt/outside/morello/tools/containment.py", line 109 in _child
//   File "/work/wt/outside/morello/tools/containment.py", line 81 in run_contained
//   File "/work/wt/outside/morello/tools/opt_session.py", line 71 in child
//   File "/work/wt/outside/morello/tools/opt_session.py", line 46 in run
//   File "/work/wt/outside/morello/tools/morello_opt.py", line 60 in _run
//   File "/work/wt/outside/morello/tools/morello_opt.py", line 37 in main
//   File "/work/wt/venv-outside/bin/morello-opt", line 8 in <module>
//
// Extension modules: numpy._core._multiarray_umath, numpy.linalg._umath_linalg, numpy.random._common, numpy.random.bit_generator, numpy.random._bounded_integers, numpy.random._pcg64, numpy.random._generator, numpy.random._mt19937, numpy.random._philox, numpy.random._sfc64, numpy.random.mtrand (total: 11)

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @mlp(%arg0: tensor<5x12xf32>, %arg1: tensor<16x12xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<16xf32>, %arg5: tensor<3x16xf32>, %arg6: tensor<3xf32>) -> tensor<5x3xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<12x16xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<16x12xf32>) outs(%0 : tensor<12x16xf32>) permutation = [[1, 0] 
    %1 = tensor.empty() : tensor<5x16xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<5x16xf32>) -> tensor<5x16xf32>
    %3 = linalg.matmul ins(%arg0, %transposed : tensor<5x12xf32>, tensor<12x16xf32>) outs(%2 : tensor<5x16xf32>) -> tensor<5x16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %arg2 : tensor<5x16xf32>, tensor<16xf32>) outs(%1 : tensor<5x16xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %15 = arith.addf %in, %in_2 : f32
      linalg.yield %15 : f32
    } -> tensor<>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<5x16xf32>) outs(%1 : tensor<5x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = arith.cmpf ugt, %in, %cst : f32
      %16 = arith.select %15, %in, %cst : f32
      linalg.yield %16 : f32
    } -> tensor<5x16xf32>
    %6 = tensor.empty() : tensor<16x16xf32>
    %transposed_0 = linalg.transpose ins(%arg3 : tensor<16x16xf32>) outs(%6 : tensor<16x16xf32>) permutation = [1, 0] 
    %7 = linalg.matmul ins(%5, %transposed_0 : tensor<5x16xf32>, tensor<16x16xf32>) outs(%2 : tensor<5x16xf32>) -> tensor<5x16xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%7, %arg4 : tensor<5x16xf32>, tensor<16xf32>) outs(%1 : tensor<5x16xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %15 = arith.addf %in, %in_2 : f32
      linalg.yield %15 : f32
    } -> tensor<5x16xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<5x16xf32>) outs(%1 : tensor<5x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = arith.cmpf ugt, %in, %cst : f32
      ^bb0 = arith.select %15, %in, %cst : f32
      linalg.yield %16 : f32
    } -> tensor<5x16xf32>
    %10 = tensor.empty() : tensor<16x3xf32>
    %transposed_1 = linalg.transpose ins(%arg5 : tensor<3x16xf32>) outs(%10 : tensor<16x3xf32>) permutation = [1, 0] 
    %11 = tensor.empty() : tensor<5x3xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<5x3xf32>) -> tensor<5x3xf32>
    %13 = linalg.matmul ins(%9, %transposed_1 : tensor<5x16xf32>, tensor<16x3xf32>) outs(%12 : tensor<5x3xf32>) -> tensor<5x3xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%13, %arg6 : tensortensor<5x3xf32>, tensor<3xf32>) outs(%11 : tensor<5x3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %15 = arith.addf %in, %in_2 : f32
      linalg.yield %15 : f32
    } -> tensor<5x3xf32>
    return %14 : tensor<5x3xf32>
  }
}
5x16xf32