// A schedule written by hand, for out (100 x 53) += lhs (100 x 37) . rhs (37 x 53).
//
//   morello-opt examples/hand_schedule.mlir -p 'builtin.module(morello-apply-schedule)'
//   morello run matmul_accum:100x37x53:f32 --schedule examples/hand_schedule.mlir
//
// It packs rhs in panels of 16 columns, as a library would, and keeps a tile of out in
// registers. Every op takes a handle to a Spec op and gives one for each Spec op that is
// left; docs/guide/reference.md says which.

#array = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>

module attributes {morello.target = "avx2", transform.with_named_sequence} {
  func.func @product(%lhs: memref<1x100x37xf32>, %rhs: memref<1x37x53xf32>, %out: memref<1x100x53xf32>) {
    "morello.matmul"(%lhs, %rhs, %out) {accum = true, sizes = array<i64: 1, 100, 37, 53>, tensors = [#array, #array, #array], limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true} : (memref<1x100x37xf32>, memref<1x37x53xf32>, memref<1x100x53xf32>) -> ()
    return
  }

  // What runs: it gets the module.
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["morello.matmul"]} in %module : (!transform.any_op) -> !transform.any_op

    // Three panels of 16 columns (48), and 5 columns that are too few for a panel.
    %columns:2 = "morello_transform.tile"(%matmul) {dim = "n", size = 48 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %packing:3 = "morello_transform.move"(%columns#0) {operand = "rhs", level = "L2", layout = #morello.layout<"[0,2,1,2p16]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @pack failures(propagate) (%packing#0) : (!transform.any_op) -> ()
    %panel:2 = "morello_transform.tile"(%packing#1) {dim = "n", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %in_l1:3 = "morello_transform.move"(%panel#0) {operand = "rhs", level = "L1", layout = #morello.layout<"[0,2,1,2p16]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @rows failures(propagate) (%in_l1#1) : (!transform.any_op) -> ()

    // The 5 columns: rows of rhs with gaps stay in L1 if they are 8 or fewer.
    %parts:2 = "morello_transform.split"(%columns#1) {dim = "k", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @narrow failures(propagate) (%parts#0) : (!transform.any_op) -> ()
    transform.include @narrow failures(propagate) (%parts#1) : (!transform.any_op) -> ()
    transform.yield
  }

  // Copies 37 rows of 48 columns into three panels, a row of a panel at a time.
  transform.named_sequence @pack(%move: !transform.any_op {transform.consumed}) {
    %panel:2 = "morello_transform.tile"(%move) {dim = "d2", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %row:2 = "morello_transform.tile"(%panel#0) {dim = "d1", size = 1 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %from:3 = "morello_transform.move"(%row#0) {operand = "src", level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %to:3 = "morello_transform.move"(%from#1) {operand = "dst", level = "L1", layout = #morello.layout<"[0,2,1,2p16]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %kernel = "morello_transform.select"(%to#1) {kernel = "copy_rows"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  transform.named_sequence @narrow(%matmul: !transform.any_op {transform.consumed}) {
    %rhs:3 = "morello_transform.move"(%matmul) {operand = "rhs", level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @rows failures(propagate) (%rhs#1) : (!transform.any_op) -> ()
    transform.yield
  }

  // Six rows at a time, then the four that are left, by the same steps.
  transform.named_sequence @rows(%matmul: !transform.any_op {transform.consumed}) {
    %six:2 = "morello_transform.tile"(%matmul) {dim = "m", size = 6 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @kernel failures(propagate) (%six#0) : (!transform.any_op) -> ()
    transform.include @kernel failures(propagate) (%six#1) : (!transform.any_op) -> ()
    transform.yield
  }

  // lhs and out to L1, out on to registers: 6 x 16 floats are 12 of the 16.
  transform.named_sequence @kernel(%matmul: !transform.any_op {transform.consumed}) {
    %lhs:3 = "morello_transform.move"(%matmul) {operand = "lhs", level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %near:3 = "morello_transform.move"(%lhs#1) {operand = "out", level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %out:3 = "morello_transform.move"(%near#1) {operand = "out", level = "VRF", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %load = "morello_transform.select"(%out#0) {kernel = "load"} : (!transform.any_op) -> !transform.any_op
    %fma = "morello_transform.select"(%out#1) {kernel = "gemm_registers"} : (!transform.any_op) -> !transform.any_op
    %store = "morello_transform.select"(%out#2) {kernel = "store"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
