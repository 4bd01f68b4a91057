"""``python -m benchmarks.frameworks``: its layers, and its rows."""

import math

import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install -e '.[test-frameworks]'"
)

from benchmarks.frameworks import __main__ as command  # noqa: E402
from benchmarks.frameworks.layer_models import LAYERS, RESIDUALS  # noqa: E402

NETS = {
    "resnet50": 24,
    "resnet34": 3,
    "mobilenetv3": 6,
    "efficientnet": 6,
    "unet": 6,
    "vocoder": 6,
}


def test_layers_are_those_of_the_nets() -> None:
    names = [name.split(":")[0] for name in LAYERS]
    assert {net: names.count(net) for net in NETS} == NETS
    assert sum(NETS.values()) == len(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_shape_that_its_name_says(name: str) -> None:
    model, (x,) = LAYERS[name]()
    with torch.no_grad():
        y = model.to("meta")(x.to("meta"))
    if "head" in name:
        assert (x.shape, y.shape) == ((1, 2048), (1, 1000))
        return
    image, _, filters = name.split(":")[1].partition("-")
    channels, size = map(int, image.split("@"))
    stride = 2 if ":s2" in name else 1
    assert set(x.shape[2:]) == {size}
    assert x.shape[1] == channels
    assert y.shape[1] == int(filters)
    assert set(y.shape[2:]) == {size // stride}


def test_a_residual_is_added_before_relu() -> None:
    model, (x, residual) = RESIDUALS["residual:49x512x2048"]()
    with torch.no_grad():
        y = model(x, residual)
        exact = x @ model.product.weight.T + model.product.bias + residual
    torch.testing.assert_close(y, exact.clamp(min=0), rtol=1e-4, atol=1e-4)


def test_eager_is_compared_with_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = {"ours": [2.0, 4.0], "runtime": [4.0, 4.0], "eager": [1.0, 2.0]}
    without = command._line("one", times, "")
    beside = command._line("two", times, "", eager=True)
    assert without[1] == pytest.approx([2, 4 / 3])
    assert beside[1] == pytest.approx([0.5, 0.5])
    command._print_rows([without, beside])
    *lines, best, medians = capsys.readouterr().out.splitlines()
    assert lines == [without[0], beside[0]]
    assert best == "best: geometric mean 1.000, least 0.500"
    assert medians == f"medians: geometric mean {math.sqrt(2 / 3):.3f}, least 0.500"
