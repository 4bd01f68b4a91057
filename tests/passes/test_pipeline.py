"""Pipelines: parsing, printing, running, and every message."""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from morello.errors import MorelloError, PipelineError
from morello.mlir import PassManager, ir
from morello.passes.base import Bundle, Pass, PassFailure, option
from morello.passes.pipelines.options import make, options_of, render
from morello.passes.pipelines.pipeline import ANY, Pipeline
from morello.passes.pipelines.steps import Nest, Step, _groups
from morello.passes.pipelines.text import PipelineTextError, parse_options
from morello.passes.pipelines.upstream_names import UPSTREAM_NAMES
from morello.passes.registry import PASSES, Registry, Row
from tests.child import python
from tests.tables import rows

pytestmark = pytest.mark.quick

MODULE = """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""


@dataclasses.dataclass(frozen=True)
class Mark(Pass):
    """Mark the module."""

    name: ClassVar[str] = "test-mark"
    tag: str = option("x", "the mark")
    count: int = option(1, "how many times")
    fast_math: bool = option(False, "a flag")

    def __post_init__(self) -> None:
        if self.count < 1:
            raise MorelloError("needs a positive 'count'", "give 1 or more")

    def run(self, module: ir.Operation) -> None:
        if self.tag == "bad":
            raise PassFailure(module.location, "a bad mark; choose another")
        function = module.regions[0].blocks[0].operations[0]
        function.attributes["mark"] = ir.StringAttr.get(self.tag * self.count)


@dataclasses.dataclass(frozen=True)
class Loop(Bundle):
    """A bundle that names itself."""

    name: ClassVar[str] = "test-loop"

    def expand(self) -> str:
        return "cse,test-loop"


@dataclasses.dataclass(frozen=True)
class Told(Bundle):
    """Whatever it is told."""

    name: ClassVar[str] = "test-any"
    passes: str = option("", "what it stands for")

    def expand(self) -> str:
        return self.passes


@dataclasses.dataclass(frozen=True)
class Both(Bundle):
    """A mark and cse."""

    name: ClassVar[str] = "test-both"
    tag: str = option("y", "the mark")

    def expand(self) -> str:
        return f"func.func(cse),test-mark{{tag={self.tag}}}"


@dataclasses.dataclass(frozen=True)
class Break(Pass):
    """Take the terminator of the first function."""

    name: ClassVar[str] = "test-break"

    def run(self, module: ir.Operation) -> None:
        break_function(module)


def break_function(module: ir.Operation) -> None:
    body = module.regions[0].blocks[0].operations[0].regions[0].blocks[0].operations
    body[len(body) - 1].erase()


REGISTRY = Registry(
    [
        Row("test-break", __name__, "Break"),
        Row("test-mark", __name__, "Mark"),
        Row("test-loop", __name__, "Loop"),
        Row("test-both", __name__, "Both"),
        Row("test-any", __name__, "Told"),
    ]
)


def parse(text: str) -> Pipeline:
    return Pipeline.parse(text, REGISTRY)


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with ir.Context():
        yield ir.Module.parse(MODULE)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("builtin.module()", None),
        (
            " builtin.module ( cse , func.func ( cse ) ) ",
            "builtin.module(cse,func.func(cse))",
        ),
        ("builtin.module(canonicalize{max-iterations=3 top-down=false})", None),
        ("builtin.module(test-mark{tag=a count=2 fast-math=true})", None),
        ("builtin.module(test-mark)", None),
        ("builtin.module(test-mark{})", "builtin.module(test-mark)"),
        (
            "builtin.module(test-mark{fast_math})",
            "builtin.module(test-mark{fast-math=true})",
        ),
        ("builtin.module(test-mark{tag='a, b(}'})", None),
        ('builtin.module(test-mark{tag="it\'s"})', None),
        (
            "builtin.module(test-mark{tag={a{b c}d}})",
            "builtin.module(test-mark{tag='a{b c}d'})",
        ),
        ("builtin.module(test-mark{tag=''})", None),
        (
            "builtin.module(test-both{tag=z})",
            "builtin.module(func.func(cse),test-mark{tag=z})",
        ),
        (
            "builtin.module(func.func(\n  cse,\n  canonicalize))",
            "builtin.module(func.func(cse,canonicalize))",
        ),
    ],
)
def test_prints_back(text: str, printed: str | None) -> None:
    pipeline = parse(text)
    pipeline.check()
    assert str(pipeline) == (text if printed is None else printed)
    assert parse(str(pipeline)).elements == parse(str(parse(str(pipeline)))).elements


def test_values_survive_printing() -> None:
    (element,) = parse("builtin.module(test-mark{tag='a, b(}' count=+3})").elements
    assert element == Mark(tag="a, b(}", count=3)
    (again,) = parse(f"builtin.module({render(element)})").elements
    assert again == element


@pytest.mark.parametrize(
    ("text", "column", "what"), rows(__file__, "refused_pipelines")
)
def test_refusals(text: str, column: str, what: str) -> None:
    with pytest.raises(PipelineTextError) as caught:
        parse(text).check()
    message = str(caught.value)
    assert message.startswith(f"pipeline column {column}: ")
    assert what in message
    assert caught.value.picture().split("\n")[1] == " " * (int(column) - 1) + "^"


def test_pipelines_are_not_nested_without_end() -> None:
    with pytest.raises(
        PipelineTextError, match="column 202: pipelines are nested more than 100 deep"
    ) as caught:
        parse("a(" * 100_000)
    line, caret = caught.value.picture().split("\n")
    assert len(line) == len("a(" * 200)
    assert line[caret.index("^")] == "("
    assert parse(f"builtin.module({'a(' * 99}{')' * 99})").elements


def test_picture_of_a_line_among_several() -> None:
    with pytest.raises(PipelineTextError) as caught:
        parse("builtin.module(\n\tcse,\n\ttest-mark{a=1}\n)")
    assert caught.value.picture() == " test-mark{a=1}\n ^"


def test_bundle_that_contains_itself() -> None:
    with pytest.raises(PipelineError, match="bundle 'test-loop' contains itself"):
        parse("builtin.module(test-loop)")


@pytest.mark.parametrize(
    ("passes", "what"),
    [
        ("cse,", "bundle 'test-any' stands for 'cse,', which is wrong: pipeline colu"),
        ("func.func(test-mark)", "which is wrong: pipeline column 11: 'test-mark' rew"),
        ("cse,func.func(foo)", "no pass is called 'foo'"),
    ],
)
def test_errors_in_a_bundle_point_at_its_name(passes: str, what: str) -> None:
    with pytest.raises(PipelineTextError, match=r"^pipeline column 20: ") as caught:
        parse(f"builtin.module(cse,test-any{{passes='{passes}'}})").check()
    assert what in str(caught.value)


def test_option_offsets() -> None:
    assert parse_options("a=1  b") == [("a", "1", 0), ("b", None, 5)]


def test_runs_both_kinds_in_order(module: ir.Module) -> None:
    parse("builtin.module(test-mark{count=2},func.func(cse),test-both)").run(
        module.operation
    )
    text = str(module)
    assert text.count("arith.addi") == 1
    assert 'mark = "y"' in text


def test_failure_is_a_diagnostic_where_the_pass_says(module: ir.Module) -> None:
    with pytest.raises(ir.MLIRError) as caught:
        parse("builtin.module(cse,test-mark{tag=bad},cse)").run(module.operation)
    (diagnostic,) = caught.value.error_diagnostics
    assert diagnostic.message == "a bad mark; choose another"
    assert 'loc("-":0:0)' in str(diagnostic.location)


def test_a_module_that_a_pass_breaks_is_seen_at_the_end(module: ir.Module) -> None:
    with pytest.raises(ir.MLIRError) as caught:
        parse("builtin.module(test-break)").run(module.operation)
    assert "terminator" in str(caught.value.error_diagnostics[0].message)


def test_a_wrong_module_is_seen_before_any_pass(module: ir.Module) -> None:
    break_function(module.operation)
    with pytest.raises(ir.MLIRError) as caught:
        parse("builtin.module(test-mark{tag=bad})").run(module.operation)
    assert "terminator" in str(caught.value.error_diagnostics[0].message)


def test_announces_our_passes_only(module: ir.Module) -> None:
    heard: list[str] = []
    pipeline = parse("builtin.module(cse,test-mark{count=2},func.func(cse))")
    pipeline.build(heard.append).run(module.operation)
    assert heard == ["test-mark{count=2}", ""]


def test_single_step_announces_every_pass(module: ir.Module) -> None:
    heard: list[str] = []
    pipeline = parse("builtin.module(cse,test-mark,func.func(cse,canonicalize))")
    pipeline.build(heard.append, single_step=True).run(module.operation)
    assert [text for text in heard if text] == [
        "cse",
        "test-mark",
        "func.func(cse)",
        "func.func(canonicalize)",
    ]


def test_clash_names_both_owners() -> None:
    registry = Registry([Row("a", "one", "A")])
    registry.add(Row("a", "one", "A"))
    with pytest.raises(PipelineError, match="called 'a': one:A and two:B; rename"):
        registry.add(Row("a", "two", "B"))


def test_unknown_name() -> None:
    registry = Registry([Row("c", "one", "C"), Row("a", "one", "A")])
    with pytest.raises(PipelineError) as caught:
        registry.load("b")
    assert str(caught.value) == "no pass is called 'b'; Morello's are: a, c"


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (Row("gone", __name__, "Gone"), "leads to .*:Gone, which is missing; correct"),
        (Row("other", __name__, "Mark"), "which is called 'test-mark'; correct"),
    ],
)
def test_row_that_leads_nowhere(row: Row, what: str) -> None:
    with pytest.raises(PipelineError, match=what):
        Registry([row]).load(row.name)


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    name = "json.tool"
    held = sys.modules.pop(name, None)
    registry = Registry([Row("lazy", name, "main")])
    assert registry.names() == ["lazy"]
    assert "lazy" in registry
    assert name not in sys.modules
    if held is not None:
        sys.modules[name] = held


@pytest.mark.parametrize("name", PASSES.names())
def test_every_row_loads(name: str) -> None:
    cls = PASSES.load(name)
    assert issubclass(cls, Pass | Bundle)
    assert (cls.__doc__ or "").strip()
    assert all(option.text for option in options_of(cls))
    Pipeline.parse(f"builtin.module({name})").check()


@pytest.mark.parametrize("name", UPSTREAM_NAMES)
def test_upstream_names_are_registered(name: str) -> None:
    def registered(anchor: str) -> bool:
        try:
            PassManager.parse(f"{anchor}({name})")
        except ValueError as error:
            return "restricted to" in str(error)
        return True

    with ir.Context():
        assert registered("builtin.module")


def test_a_field_without_a_default_is_a_defect() -> None:
    cls: Any = dataclasses.make_dataclass("Odd", [("size", int)])
    with pytest.raises(TypeError, match="option 'size' needs a default"):
        make(cls, [])


def test_registry_imports_no_mlir() -> None:
    code = "import sys, morello.passes.registry; print('torch_mlir' in sys.modules)"
    run = python("-c", code, check=True, cwd=Path(__file__).parent.parent.parent)
    assert run.stdout == "False\n"


def test_neighbouring_nests_are_one_pipeline_unless_one_is_on_any_op() -> None:
    a, b, anything = Nest("a", ()), Nest("b", ()), Nest(ANY, ())
    alone = Step("CSEPass", "cse", "cse")
    assert [*_groups(())] == []
    assert [*_groups((a, b))] == [[a, b]]
    assert [*_groups((a, b, a, b))] == [[a, b]]
    assert [*_groups((a, anything, b, a))] == [[a], [anything], [b, a]]
    assert [*_groups((anything, anything))] == [[anything], [anything]]
    assert [*_groups((alone, a, alone, b))] == [alone, [a], alone, [b]]
    nested = Nest("a", (anything,)), b, Nest("a", (alone,))
    assert [*_groups(nested)] == [[Nest("a", (anything, alone)), b]]
