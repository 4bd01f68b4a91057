// A schedule of which only the beginning is written by hand; the search finds the rest.
//
//   morello run matmul_accum:100x37x53:f32 --schedule examples/partial_schedule.mlir
//   morello emit matmul_accum:100x37x53:f32 --schedule examples/partial_schedule.mlir --stage schedule
//   morello-opt examples/partial_schedule.mlir -p 'builtin.module(morello-synthesize{fill=true})'
//
// The second and third print the complete schedule. What is decided here: rhs is packed
// in panels of 16 columns in L2, and tiles of 6 rows are multiplied by a panel. What is
// left: how to pack, what to do with the remainders, and how to multiply a tile.

#array = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>

module attributes {morello.target = "avx2", transform.with_named_sequence} {
  func.func @product(%lhs: memref<1x100x37xf32>, %rhs: memref<1x37x53xf32>, %out: memref<1x100x53xf32>) {
    "morello.matmul"(%lhs, %rhs, %out) {accum = true, sizes = array<i64: 1, 100, 37, 53>, tensors = [#array, #array, #array], limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true} : (memref<1x100x37xf32>, memref<1x37x53xf32>, memref<1x100x53xf32>) -> ()
    return
  }

  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["morello.matmul"]} in %module : (!transform.any_op) -> !transform.any_op

    // Three panels of 16 columns; the 5 columns that remain are left.
    %columns:2 = "morello_transform.tile"(%matmul) {dim = "n", size = 48 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    // Copying into the panels is left, too.
    %packing:3 = "morello_transform.move"(%columns#0) {operand = "rhs", level = "L2", layout = #morello.layout<"[0,2,1,2p16]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %panel:2 = "morello_transform.tile"(%packing#1) {dim = "n", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @rows failures(propagate) (%panel#0) : (!transform.any_op) -> ()
    transform.yield
  }

  // Six rows at a time; the tiles and the last four rows are left.
  transform.named_sequence @rows(%matmul: !transform.any_op {transform.consumed}) {
    %six:2 = "morello_transform.tile"(%matmul) {dim = "m", size = 6 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
