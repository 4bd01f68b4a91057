// RUN: %morello-opt %s --split-input-file --verify-diagnostics
// RUN: %morello-opt %s -split-input-file -verify-diagnostics=only-expected

// expected-error@+2 {{has 0 operands, but enclosing function (@f) returns 1}}
func.func @f() -> i32 {
  return }

// -----

func.func @g() -> i32 {
  %0 = "nowhere.op"() : () -> i32 // expected-error {{unregistered dialect}}
  return %0 : i32
}

// -----

func.func @h(%a: i32) { // expected-note {{prior use here}}
  // expected-error-re@below {{use of value '%a' {{[a-z]+}} different type{{.*}}'i64' vs 'i32'}}
  %0 = arith.addi %a, %a : i64
  return
}

// -----

func.func @i(%a: i32) {
  %0 = nowhere.op %a
  // expected-error@above {{Dialect `nowhere' not found}}
  // expected-note-re@above {{Available {{[a-z]+}}: acc}}
  return
}
