module attributes {morello.target = "avx2", transform.with_named_sequence} {
  func.func @matmul_1x32x64_f32(%arg0: memref<1x1x32xf32>, %arg1: memref<1x32x64xf32>, %arg2: memref<1x1x64xf32>) {
    "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=512,l2=8192">, morello.id = 0 : i64, serial = true, sizes = array<i64: 1, 1, 32, 64>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x1x32xf32>, memref<1x32x64xf32>, memref<1x1x64xf32>) -> ()
    return
  }
  transform.named_sequence @__transform_main(%arg0: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["morello.matmul"]} attributes {morello.id = 0 : i64} in %arg0 : (!transform.any_op) -> !transform.any_op
    %prologue, %body, %epilogue = "morello_transform.move"(%matmul) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "lhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %prologue_1, %body_1, %epilogue_1 = "morello_transform.move"(%body) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %prologue_2, %body_2, %epilogue_2 = "morello_transform.move"(%body_1) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %prologue_3, %body_3, %epilogue_3 = "morello_transform.move"(%body_2) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "lhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %leaf = "morello_transform.select"(%body_3) {kernel = "gemv_axpy"} : (!transform.any_op) -> !transform.any_op
    transform.yield 
  }
}
