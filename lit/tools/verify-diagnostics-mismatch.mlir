// What --verify-diagnostics itself reports.
// RUN: not %morello-opt %s --split-input-file --verify-diagnostics 2>&1 | FileCheck %s

// CHECK: verify-diagnostics-mismatch.mlir:[[# @LINE + 2]]:3: error: unexpected error: 'func.return' op has 0 operands
func.func @unexpected() -> i32 {
  return
}
// -----
// CHECK: [[# @LINE + 1]]:4: error: expected error "something else" was not produced
// expected-error@below {{something else}}
func.func @wanted() { return }
// -----
// CHECK: [[# @LINE + 1]]:4: error: cannot read the place '@here'; write @+N, @-N, @above, @below or @unknown
// expected-error@here {{text}}
func.func @place() { return }
// -----
// CHECK: [[# @LINE + 1]]:4: error: this expectation has no closing
// expected-warning {{text
func.func @braces() { return }
// -----
// CHECK: [[# @LINE + 1]]:4: error: not a regular expression
// expected-note-re {{a{{(}}b}}
func.func @regex() { return }
