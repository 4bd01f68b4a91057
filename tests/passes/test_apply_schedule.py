"""`morello-apply-schedule`: its option, and failures of upstream's interpreter."""

from pathlib import Path

import pytest

from morello.errors import TargetError
from morello.mlir import ir
from morello.passes import apply_schedule
from morello.passes.apply_schedule import ApplySchedule
from morello.passes.base import PassFailure

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("known_dialects")]

TEXT = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""


def test_the_option_names_the_target_of_the_module() -> None:
    module = ir.Module.parse(TEXT)
    ApplySchedule(target="avx2").run(module.operation)
    assert str(module).split() == [
        *("module", "attributes", "{morello.target", "=", '"avx2"}', "{", "}")
    ]


def test_without_option_nothing_is_recorded() -> None:
    module = ir.Module.parse(TEXT)
    ApplySchedule().run(module.operation)
    assert str(module).split() == ["module", "{", "}"]


def test_an_unknown_target_is_refused_before_any_run() -> None:
    with pytest.raises(TargetError, match="unknown target 'vax'; use one of avx2"):
        ApplySchedule(target="vax")


def module_for(target: str) -> ir.Module:
    return ir.Module.parse(
        TEXT.replace("{transform", f'{{morello.target="{target}",transform')
    )


def test_option_and_module_must_agree() -> None:
    module = module_for("avx2-zen3")
    with pytest.raises(
        PassFailure, match="for the target 'avx2-zen3', but the option says 'avx2'"
    ):
        ApplySchedule(target="avx2").run(module.operation)
    ApplySchedule(target="avx2-zen3").run(module.operation)


def test_a_module_is_for_a_target_that_no_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "a.target"
    file.write_text("avx2{fork=7}")
    with pytest.raises(PassFailure, match="unknown target '@"):
        ApplySchedule().run(module_for(f"@{file}").operation)
    module = ir.Module.parse(TEXT)
    ApplySchedule(target=f"@{file}").run(module.operation)
    assert 'morello.target = "avx2{fork=7}"' in str(module)


def test_the_dialects_are_loaded_if_need_be() -> None:
    with ir.Context():
        module = ir.Module.parse(TEXT)
        ApplySchedule().run(module.operation)
        assert "transform" not in str(module)


def read(text: str) -> tuple[str, str]:
    default = ir.Location.file("default", 1, 1)
    location, message = apply_schedule._diagnostic(text, default)
    return str(location), message


def test_the_first_diagnostic_is_the_error_and_the_others_notes() -> None:
    text = (
        "Failed to apply named transform sequence.\n"
        'Diagnostic message at loc("a).mlir":1:2): it has failed\nin two lines\n'
        'at loc("-":3:4): because of this\nat loc(unknown): and that'
    )
    assert read(text) == (
        'loc("a).mlir":1:2)',
        "it has failed\nin two lines\nnote: 3:4: because of this\n"
        "note: an unknown place: and that",
    )


def test_nested_locations_are_kept() -> None:
    text = 'Diagnostic message at loc(callsite("f"("a\\22":1:2) at "b":3:4)): no'
    assert read(text) == ('loc(callsite("f"("a\\22":1:2) at "b":3:4))', "no")


@pytest.mark.parametrize("name", [r"a\\\\", r"a\\\"):", r"a\\\\\\\"b\\\\", r"(\\\""])
def test_backslashes_in_names_of_files_are_text(name: str) -> None:
    """Each stands before another one, or before a quote of the name."""
    location = f'loc("{name}":1:2)'
    assert apply_schedule._location_end(f'{location}: it "fails")') == len(location)
    assert read(f'Diagnostic message at {location}: it "fails")')[1] == 'it "fails")'


@pytest.mark.parametrize("text", ["Failed.", "Diagnostic message at loc(unknown):"])
def test_a_failure_without_reason_is_said_to_be_one(text: str) -> None:
    assert read(text) == (
        'loc("default":1:1)',
        "the schedule has failed, and upstream does not say why",
    )


def test_an_unreadable_location_is_that_of_the_schedule() -> None:
    assert read("Diagnostic message at loc(x): no") == ('loc("default":1:1)', "no")
