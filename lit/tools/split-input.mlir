// RUN: %morello-opt %s --split-input-file | FileCheck %s
// RUN: %morello-opt --split-input-file %s --output-split-marker='// ==' | FileCheck %s --check-prefix=MARK

// CHECK: func.func @same()
// CHECK: // -----
// CHECK: func.func @same()
// MARK: // ==
func.func @same() { return }
// -----
func.func @same() { return }
