"""Scripts that were written for former names of modules go on to work."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

import morello
from morello.former_names import FORMER_NAMES, current_name

pytestmark = pytest.mark.quick


def _run(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, where nothing is imported."""
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("former", sorted({*FORMER_NAMES} - {"morello.jit"}))
def test_the_list_is_true(former: str) -> None:
    """The one left out is the name of a function today; see below."""
    name = FORMER_NAMES[former]
    today = importlib.import_module(name)
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} is called {name} now"):
        module = importlib.import_module(former)
    assert vars(module).get("__path__") == [] or module is today


def test_every_way_to_import_gives_the_module_of_today() -> None:
    run = _run(
        "import sys\n"
        "from morello.targets import host\n"
        "import morello.targets.host as again\n"
        "import morello.targets\n"
        "from morello.jit.openmp import openmp_library\n"
        "from morello.jit import engine\n"
        "import morello.jit.function\n"
        "import morello.pinning\n"
        "from morello.targets.coefficients import Coefficients\n"
        "import morello.machine.host, morello.runtime.engine, morello.cost\n"
        "import morello.compiler.pinning, morello.runtime.openmp\n"
        "assert host is again is morello.targets.host is morello.machine.host\n"
        "assert morello.targets.AVX2 is morello.machine.AVX2\n"
        "assert engine is morello.runtime.engine\n"
        "assert openmp_library is morello.runtime.openmp.openmp_library\n"
        "assert morello.pinning is morello.compiler.pinning\n"
        "assert Coefficients is morello.cost.coefficients.Coefficients\n"
        "assert morello.machine.host.__spec__.name == 'morello.machine.host'\n"
        "files = [getattr(m, '__file__', None) for m in sys.modules.values()]\n"
        "assert len([f for f in files if f and f.endswith('machine/host.py')]) == 2\n"
        "assert len({id(m) for m in sys.modules.values()\n"
        "    if str(getattr(m, '__file__', '')).endswith('machine/host.py')}) == 1\n"
        "morello.jit(lambda x: x + x)\n",
    )
    assert run.returncode == 0, run.stderr


def test_a_warning_points_at_the_line_that_imports() -> None:
    run = _run("pass\nfrom morello.targets import host\n", "-W", "error")
    assert run.returncode == 1
    assert '"<string>", line 2' in run.stderr
    last = run.stderr.splitlines()[-1]
    assert last == (
        "DeprecationWarning: the module morello.targets is called morello.machine now"
    )


def test_names_of_today_warn_of_nothing() -> None:
    run = _run(
        "import inspect, sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "import morello, morello.machine.host\n"
        "[getattr(m, '__file__', 0) for m in list(sys.modules.values())]\n"
        "assert 'morello.runtime' not in sys.modules\n"
        "from morello import jit\n"
        "assert inspect.isfunction(jit) and morello.jit is jit\n"
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", ["morello.jit.nothing", "morello.nothing"])
def test_what_never_was_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"'{name}'"):
        importlib.import_module(name)


def test_names_that_were_not_changed_have_no_other() -> None:
    assert current_name("morello.spec") is None
    assert current_name("morello.targets.host") == "morello.machine.host"
    assert morello.__name__ == "morello"
