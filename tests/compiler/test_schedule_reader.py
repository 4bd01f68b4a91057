"""Schedules of strangers: data of which the named sequences alone are taken."""

import re

import numpy as np
import pytest

import morello
from morello.compiler.hand_schedule import read_program
from morello.compiler.target_choice import schedule_target
from morello.dialect.transform import action_op
from morello.errors import MorelloError, ScheduleError, TargetError
from morello.machine import AVX2
from morello.machine.targets.avx2_zen3 import AVX2_ZEN3
from morello.spec import parse_spec
from tests.compiler.test_partial_schedule import END, MATCH, MODULE, SPEC, include, tile
from tests.tables import rows

pytestmark = pytest.mark.quick

SQUARE = "matmul:4x4x4:f32"
"""All its operands have one type, so that they can be mixed up."""

MODULE_HEAD = 'module attributes {morello.target = "avx2", transform.with_named_seq'


@pytest.fixture(scope="module")
def schedule() -> str:
    """The schedule of `SQUARE` that the search finds."""
    return morello.compile(SQUARE, db="none").schedule


def at_end(schedule: str, line: str) -> str:
    """The schedule with one more op at the end of its sequence."""
    head, last, tail = schedule.rpartition("    transform.yield")
    return f"{head}    {line}\n{last}{tail}"


def in_function(schedule: str, line: str) -> str:
    """The schedule with one more op at the end of its function."""
    return schedule.replace("    return\n", f"    {line}\n    return\n")


def in_module(schedule: str, line: str) -> str:
    """The schedule with one more op in its module."""
    return schedule.replace("  func.func @", f"  {line}\n  func.func @", 1)


BESIDE_THE_SPEC = dict(rows(__file__, "beside_the_spec"))
"""Schedules that have more than a Spec and its actions, made of one, s."""


@pytest.mark.parametrize("name", BESIDE_THE_SPEC)
def test_what_is_beside_the_spec_and_its_actions_is_refused(
    name: str, schedule: str
) -> None:
    text = eval(BESIDE_THE_SPEC[name], globals(), {"s": schedule})
    assert text != schedule
    with pytest.raises(ScheduleError, match=r'^(the .* MLIR: )?"-":\d+:\d+: '):
        morello.compile(SQUARE, schedule=text)
    with pytest.raises(ScheduleError):
        read_program(text, parse_spec(SQUARE, AVX2.limits), AVX2)


def test_a_refusal_says_where_and_what_is_legal(schedule: str) -> None:
    text = at_end(schedule, "transform.print %arg0 : !transform.any_op")
    line = text[: text.index("transform.print")].count("\n") + 1
    with pytest.raises(
        ScheduleError,
        match=rf"^\"-\":{line}:5: 'transform\.print' is no op of a schedule; those are "
        r".*morello_transform\.tile, .*transform\.include, ",
    ):
        morello.compile(SQUARE, schedule=text)


@pytest.mark.parametrize(
    "name", ["memcpy", "omp_get_thread_num", "__kmpc_barrier", "main", '"a b\\0A"']
)
def test_the_functions_own_name_is_not_taken(name: str, schedule: str) -> None:
    text = schedule.replace("@matmul_4x4x4_f32(", f"@{name}(")
    kernel = morello.compile(SQUARE, schedule=text)
    assert kernel.object == morello.compile(SQUARE, schedule=schedule).object
    lhs, rhs = kernel.spec.random(np.random.default_rng(0))
    assert np.array_equal(kernel(lhs, rhs), kernel.spec.evaluate(lhs, rhs))


def test_places_reach_no_object(schedule: str) -> None:
    scope = (
        '#f = #llvm.di_file<"a.c" in "/">\n'
        "#u = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, "
        "file = #f, isOptimized = false, emissionKind = Full>\n"
        "#s = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #u, scope = #f, "
        'name = "a", file = #f, subprogramFlags = Definition>\n'
    )
    line = '    return loc(fused<#s>["a.c":1:1])\n  } loc(fused<#s>["a.c":1:1])\n'
    text = scope + schedule.replace("    return\n  }\n", line)
    kernel = morello.compile(SQUARE, schedule=text)
    assert kernel.object == morello.compile(SQUARE, schedule=schedule).object


def sequence(name: str, body: str) -> str:
    """A named sequence that looks at a handle."""
    return (
        f"transform.named_sequence @{name}(%x: !transform.any_op {{transform.readonly}}"
        f") {{\n{body}{END}"
    )


def test_inclusions_that_multiply_are_refused_at_once() -> None:
    count = 60
    doubled = [
        sequence(f"s{n}", 2 * include(f"s{n + 1}", "x") if n < count else "")
        for n in range(count + 1)
    ]
    text = MODULE + MATCH + include("s0", "m") + END + "".join(doubled) + "}"
    with pytest.raises(ScheduleError, match=r"a run of the sequence @s\d+ takes 131,0"):
        morello.compile(SPEC, schedule=text)


def test_a_sequence_that_includes_itself_is_refused() -> None:
    text = (
        MODULE
        + MATCH
        + include("a", "m")
        + END
        + sequence("a", include("b", "x"))
        + sequence("b", include("a", "x"))
        + "}"
    )
    with pytest.raises(ScheduleError, match=r"recursion|includes itself"):
        morello.compile(SPEC, schedule=text)


def test_loops_over_payloads_are_not_nested() -> None:
    loop = "transform.foreach %m : !transform.any_op { ^bb0(%y: !transform.any_op):\n"
    text = MODULE + MATCH + loop + loop.replace("%y", "%z") + "} }\n" + END + "}"
    with pytest.raises(ScheduleError, match=r"foreach' inside of 'transform\.foreach"):
        morello.compile(SPEC, schedule=text)


def test_a_module_names_no_file(schedule: str) -> None:
    text = schedule.replace('"avx2"', '"@/dev/zero"')
    with pytest.raises(TargetError, match="unknown target '@/dev/zero'"):
        morello.compile(SQUARE, schedule=text)
    with pytest.raises(MorelloError, match="unknown target '@/dev/zero'"):
        morello.compile(SQUARE, schedule=text, target="avx2")


def test_a_comment_names_no_target(schedule: str) -> None:
    assert schedule_target('// morello.target = "avx2-zen3"\n' + schedule) == AVX2
    wanted = schedule.replace('"avx2"', '"avx2-zen3"')
    assert schedule_target('// morello.target = "avx2"\n' + wanted) == AVX2_ZEN3


def with_attribute(schedule: str, value: str) -> str:
    """The schedule whose Spec's op has one more attribute."""
    return schedule.replace("serial = true", f"serial = true, a = {value}")


MANY = 100_000

CRASHES = {
    "modules": lambda s: "module{" * MANY,
    "arrays": lambda s: with_attribute(s, "[" * MANY),
    "dictionaries": lambda s: "module attributes {a = " + "{a=" * MANY,
    "types": lambda s: with_attribute(s, "tuple<" * MANY),
    "locations": lambda s: f"{s} loc({'callsite(' * MANY}",
    "elements": lambda s: with_attribute(s, f"dense<{'[' * MANY}"),
    "signs": lambda s: with_attribute(s, f"affine_map<(d0) -> ({'-' * MANY}d0)>"),
    "signs apart": lambda s: with_attribute(s, f"affine_map<(d0)->({'- ' * MANY}d0)>"),
    "brackets behind a string": lambda s: with_attribute(s, f'["\\"", {"[" * MANY}'),
    "brackets behind a comment": lambda s: f'// "\n{"module{" * MANY}',
}
"""Texts whose parsing would end the process: MLIR's parser calls itself."""


@pytest.mark.parametrize("name", CRASHES)
def test_a_text_that_would_crash_the_parser_is_refused(
    name: str, schedule: str
) -> None:
    with pytest.raises(ScheduleError, match=r'^"-":\d+:\d+: .* more than 200 deep$'):
        morello.compile(SQUARE, schedule=CRASHES[name](schedule))


def test_brackets_in_strings_and_comments_are_text(schedule: str) -> None:
    text = f"// {'{' * 999}\n{schedule}// {'<' * 999}"
    assert morello.compile(SQUARE, schedule=text).schedule == text
    with pytest.raises(ScheduleError, match=r"attribute 'a' of 'morello\.matmul'"):
        morello.compile(SQUARE, schedule=with_attribute(schedule, f'"{"[" * 999}"'))


def test_text_that_is_no_unicode_is_refused(schedule: str) -> None:
    text = schedule.replace("  func.func", "\n // \udc80\n  func.func", 1)
    with pytest.raises(ScheduleError, match=r'^"-":3:5: .*is no Unicode text'):
        morello.compile(SQUARE, schedule=text)


@pytest.mark.parametrize(
    "value", ["array<i65536: 4>", "array<f16: 1.0>", "array<i128: 1>", "1.0"]
)
def test_attributes_that_the_bindings_have_no_class_for(
    value: str, schedule: str
) -> None:
    for name in ("sizes", "morello.id", "limits", "serial", "morello.target", "dim"):
        text = re.sub(rf"\b{name} = [^,}}]*(<[^>]*>)?", f"{name} = {value}", schedule)
        if text == schedule:  # it takes none: another op has it
            continue
        with pytest.raises(ScheduleError, match=r'"-":\d+:\d+: '):
            morello.compile(SQUARE, schedule=text)


def test_a_handle_to_very_many_specs_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each tile adds to what is matched: a few ops, and as many Specs as one likes."""
    lines = "".join(
        f'%m{size} = transform.structured.match ops{{["morello.move"]}} in %root : '
        "(!transform.any_op) -> !transform.any_op\n"
        + tile(f"t{size}", f"m{size}", size)
        for size in (512, 256, 128)
    )
    root = MATCH.split("%m")[0]
    text = MODULE.replace("20", "1023") + root + lines + END + "}"
    monkeypatch.setattr(action_op, "MOST_SPECS", 2)
    with pytest.raises(ScheduleError, match="is given 3 Specs at once; at most 2"):
        morello.compile("move:4x1023:f32", schedule=text)
