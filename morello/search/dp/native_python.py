"""Loops over arrays, written as plain Python and compiled to machine code.

A function in a small part of Python, over 64-bit integers and arrays of them, becomes
LLVM IR statement by statement. The function itself still runs as Python, slowly, and so
says what the machine code means: a test runs both.

Parameters are annotated `int`, or with one of `I8`, `I32`, `I64`, `F64` for the first
element of an array. There are assignments, `if`, `while`, `for … in range(…)`, `break`,
`return` of an integer, comparisons, `and`, `or`, `not`, `+ - * // %`, and calls of
other such functions. ``//`` and ``%`` round to zero: operands are not negative.
`same_ratio` is exact for any 64-bit arguments.
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NewType

from llvmlite import ir

from morello.search.dp.machine_code import (
    POINTER,
    WORD,
    load_engine,
    native_function,
)

I8 = NewType("I8", list[int])
I32 = NewType("I32", list[int])
I64 = NewType("I64", list[int])
F64 = NewType("F64", list[int])

_WORD = ir.IntType(64)
_POINTER = ir.PointerType()
_ELEMENTS = {
    "I8": ir.IntType(8),
    "I32": ir.IntType(32),
    "I64": _WORD,
    "F64": ir.DoubleType(),
}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def same_ratio(a: int, b: int, c: int, d: int) -> bool:
    """Whether a / b = c / d, for b and d other than 0."""
    return a * d == c * b


class UnsupportedError(TypeError):
    """A function that is outside the part of Python that is compiled."""


def compile_native(*functions: Callable[..., Any]) -> dict[str, Callable[..., int]]:
    """Machine code of functions that may call those before them, by name.

    The results take the address of each array (`numpy.ndarray.ctypes.data`) and
    integers, and give an integer; Python's lock is released while they run.

    Raises:
        UnsupportedError: a statement that cannot be compiled.
    """
    module = ir.Module()
    signatures = {}
    for function in functions:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise UnsupportedError(f"{function} is not a function")
        signatures[tree.name] = _Compiler(module, tree).run()
    engine = load_engine(str(module), speed_level=2)
    return {name: _callable(engine, name, kinds) for name, kinds in signatures.items()}


def _callable(engine: Any, name: str, kinds: list[str]) -> Callable[..., int]:
    types = [WORD if kind == "int" else POINTER for kind in kinds]
    return functools.partial(native_function(engine, name, WORD, types))


class _Compiler:
    """One function: every variable is a stack slot, which LLVM turns into a value."""

    def __init__(self, module: ir.Module, tree: ast.FunctionDef) -> None:
        self.module = module
        self.tree = tree
        self.kinds = {a.arg: ast.unparse(a.annotation or a) for a in tree.args.args}
        words = [_WORD if k == "int" else _POINTER for k in self.kinds.values()]
        self.function = ir.Function(
            module, ir.FunctionType(_WORD, words), name=tree.name
        )
        if any(isinstance(node, ast.Call) for node in ast.walk(tree)):
            self.function.attributes.add("noinline")  # else compiling takes a second
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.slots: dict[str, Any] = {}
        self.exits: list[Any] = []

    def run(self) -> list[str]:
        """Compile the body; the kinds of the parameters."""
        names = dict.fromkeys(
            [*self.kinds, *filter(None, map(_stored, ast.walk(self.tree)))]
        )
        for name in names:
            kind = self.kinds.get(name, "int")
            self.slots[name] = self.builder.alloca(
                _WORD if kind == "int" else _POINTER, name=name
            )
        for name, argument in zip(self.kinds, self.function.args, strict=True):
            self.builder.store(argument, self.slots[name])
        self._block(self.tree.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(ir.Constant(_WORD, 0))
        return list(self.kinds.values())

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.builder.block.is_terminated:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target]):
                self._store(target, self._value(node.value))
            case ast.AugAssign():
                old = self._value(node.target)
                self._store(node.target, self._binary(node.op, old, node.value))
            case ast.Expr(value=ast.Constant()):
                return  # the docstring
            case ast.Expr():
                self._value(node.value)
            case ast.If():
                self._if(node)
            case ast.While():
                self._loop(lambda: self._truth(node.test), node.body, None)
            case ast.For(target=ast.Name(id=name)):
                self._for(name, node)
            case ast.Break():
                self.builder.branch(self.exits[-1])
            case ast.Return(value=ast.expr() as value):
                self.builder.ret(self._value(value))
            case _:
                raise UnsupportedError(ast.unparse(node))

    def _if(self, node: ast.If) -> None:
        with self.builder.if_else(self._truth(node.test)) as (then, otherwise):
            with then:
                self._block(node.body)
            with otherwise:
                self._block(node.orelse)

    def _for(self, name: str, node: ast.For) -> None:
        call = node.iter
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range":
            raise UnsupportedError(ast.unparse(node))
        first, last = ([ast.Constant(0), *call.args])[-2:]
        self.builder.store(self._value(first), self.slots[name])
        bound = self._value(last)

        def more() -> Any:
            here = self.builder.load(self.slots[name], typ=_WORD)
            return self.builder.icmp_signed("<", here, bound)

        def step() -> None:
            here = self.builder.load(self.slots[name], typ=_WORD)
            after = self.builder.add(here, ir.Constant(_WORD, 1))
            self.builder.store(after, self.slots[name])

        self._loop(more, node.body, step)

    def _loop(
        self,
        test: Callable[[], Any],
        body: list[ast.stmt],
        step: Callable[[], None] | None,
    ) -> None:
        head, inside, after = (
            self.function.append_basic_block(n) for n in ("head", "body", "after")
        )
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(test(), inside, after)
        self.builder.position_at_end(inside)
        self.exits.append(after)
        self._block(body)
        self.exits.pop()
        if not self.builder.block.is_terminated:
            if step is not None:
                step()
            self.builder.branch(head)
        self.builder.position_at_end(after)

    def _store(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.builder.store(value, self.slots[name])
            case ast.Subscript():
                place, element = self._place(target)
                self.builder.store(self._narrow(value, element), place)
            case _:
                raise UnsupportedError(ast.unparse(target))

    def _narrow(self, value: Any, element: Any) -> Any:
        if isinstance(element, ir.DoubleType):
            return self.builder.sitofp(value, element)
        return value if element == _WORD else self.builder.trunc(value, element)

    def _place(self, node: ast.Subscript) -> tuple[Any, Any]:
        if not isinstance(node.value, ast.Name):
            raise UnsupportedError(ast.unparse(node))
        element = _ELEMENTS[self.kinds[node.value.id]]
        pointer = self.builder.load(self.slots[node.value.id], typ=_POINTER)
        index = [self._value(node.slice)]
        return self.builder.gep(pointer, index, source_etype=element), element

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() as number):
                return ir.Constant(_WORD, int(number))
            case ast.UnaryOp(op=ast.USub()):
                return self.builder.neg(self._value(node.operand))
            case ast.Name(id=name):
                kind = _WORD if self.kinds.get(name, "int") == "int" else _POINTER
                return self.builder.load(self.slots[name], typ=kind)
            case ast.Subscript():
                return self._load(node)
            case ast.BinOp():
                return self._binary(node.op, self._value(node.left), node.right)
            case ast.Call(func=ast.Name(id=name)):
                return self._call(name, [self._value(a) for a in node.args])
            case _:
                return self.builder.zext(self._truth(node), _WORD)

    def _load(self, node: ast.Subscript) -> Any:
        place, element = self._place(node)
        value = self.builder.load(place, typ=element)
        if isinstance(element, ir.DoubleType):
            return self.builder.fptosi(value, _WORD)
        return value if element == _WORD else self.builder.sext(value, _WORD)

    def _binary(self, op: ast.operator, left: Any, right: ast.expr) -> Any:
        value = self._value(right)
        match op:
            case ast.Add():
                return self.builder.add(left, value)
            case ast.Sub():
                return self.builder.sub(left, value)
            case ast.Mult():
                return self.builder.mul(left, value)
            case ast.FloorDiv():
                return self.builder.sdiv(left, value)
            case ast.Mod():
                return self.builder.srem(left, value)
            case _:
                raise UnsupportedError(ast.unparse(op))

    def _call(self, name: str, arguments: list[Any]) -> Any:
        if name == "same_ratio":
            a, b, c, d = (self.builder.sext(x, ir.IntType(128)) for x in arguments)
            same = self.builder.icmp_signed(
                "==", self.builder.mul(a, d), self.builder.mul(c, b)
            )
            return self.builder.zext(same, _WORD)
        if name not in self.module.globals:
            raise UnsupportedError(f"{name} is called before it is compiled")
        return self.builder.call(self.module.globals[name], arguments)

    def _truth(self, node: ast.expr) -> Any:
        match node:
            case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARE:
                left = self._value(node.left)
                return self.builder.icmp_signed(
                    _COMPARE[type(op)], left, self._value(right)
                )
            case ast.UnaryOp(op=ast.Not()):
                return self.builder.not_(self._truth(node.operand))
            case ast.BoolOp():
                return self._chain(node)
            case (
                ast.Name() | ast.Call() | ast.Subscript() | ast.Constant() | ast.BinOp()
            ):
                zero = ir.Constant(_WORD, 0)
                return self.builder.icmp_signed("!=", self._value(node), zero)
            case _:
                raise UnsupportedError(ast.unparse(node))

    def _chain(self, node: ast.BoolOp) -> Any:
        """``and`` and ``or`` look at no more of their parts than they must."""
        stops_at = isinstance(node.op, ast.Or)
        with self.builder.goto_entry_block():
            slot = self.builder.alloca(ir.IntType(1))
        done = self.function.append_basic_block("done")
        for part in node.values:
            truth = self._truth(part)
            self.builder.store(truth, slot)
            following = self.function.append_basic_block("next")
            ways = (done, following) if stops_at else (following, done)
            self.builder.cbranch(truth, *ways)
            self.builder.position_at_end(following)
        self.builder.branch(done)
        self.builder.position_at_end(done)
        return self.builder.load(slot, typ=ir.IntType(1))


def _stored(node: ast.AST) -> str:
    """The variable that a node assigns to; nothing if it does not."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return name
        case _:
            return ""
