"""`graph_taps4`: filters of bytes, channel by channel, four taps an instruction."""

import dataclasses

import pytest

from morello.kernels.graph.quads import quads_of
from morello.spec import Spec, parse_spec
from tests.kernels.harness import (
    check_random,
    isa_of,
    legal_cases,
    limits_of,
    skip_where_it_cannot_run,
)

WINDOWS = {
    "sums": "y[h,w,c]=sum(x[h+i,w+j,c]*f[i,j,c])",
    "inside": "t[h,w,c]=sum(x[h+i,w+j,c]*f[i,j,c]);out y[h,w,c]=round_u8(t*s[c]+b[c])",
    "padded": (
        "t[h,w,c]=sum(x[pad(h+i,1,1),pad(w+j,1,1),c]*f[i,j,c]);"
        "out y[h,w,c]=relu(t+b[c])"
    ),
    "in steps": "y[h,w,c]=sum(x[pad(2*h+i,1,0),pad(2*w+j,1,0),c]*f[i,j,c])",
    "spread": "y[h,w,c]=sum(x[h+2*i,pad(w+2*j,2,2),c]*f[i,j,c])",
    "one side": "y[h,w,c]=sum(x[pad(h+i,0,2),pad(w+j,2,0),c]*f[i,j,c])",
    "far apart": "y[h,w,c]=sum(x[h+i,3*w+2*j,c]*f[i,j,c])",
    "added": "out y[h,w,c]+=sum(x[h+i,w+j,c]*f[i,j,c])",
    "columns": "y[h,w,c]=sum(x[h,w+j,c]*f[j,c])",
}
"""Images and filters of bytes, as rows side by side read them."""

CHANNELS = (1, 5, 15, 16, 17, 24, 31, 33, 48, 63, 64, 65, 72, 129)


def _spec(name: str, sizes: str, mix: str, kernel: str) -> Spec:
    more = {"inside": ",f32,f32,u8", "padded": ",f32,f32"}
    dtypes = mix + more.get(name, ",f32")
    text = f"compose:{sizes}:{dtypes}:graph={WINDOWS[name]}"
    return dataclasses.replace(parse_spec(text, limits_of(kernel)), serial=True)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("mix", ["u8,s8", "s8,u8", "s8,s8"])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("kernel", ["graph_taps4_512", "graph_taps4_vnni"])
def test_windows_of_bytes(kernel: str, name: str, mix: str) -> None:
    """Channels of any number, rows in groups of any size, under taps of any number."""
    specs = []
    for number, channels in enumerate(CHANNELS):
        for taps in (1 + number % 7, 3):
            rows = f"2x{3 + number}" if name == "columns" else f"{6 + number % 3}x9"
            of_taps = taps if name == "columns" else f"{min(taps, 3)}x{taps}"
            specs.append(_spec(name, f"{rows}x{channels}x{of_taps}", mix, kernel))
    cases = legal_cases(kernel, tuple(specs))
    assert len(cases) >= len(specs) // 2
    skip_where_it_cannot_run(isa_of(cases))
    check_random(cases)


@pytest.mark.parametrize(("step", "spread"), [(1, 1), (2, 1), (1, 2), (3, 2), (2, 2)])
def test_each_tap_of_each_row_is_in_a_group(step: int, spread: int) -> None:
    for taps in range(1, 17):
        quads = quads_of(4, taps, step, spread)
        for row in range(quads.rows):
            places = [p for g in range(quads.count) for p in quads.places(row, g)]
            first = quads.shift(row)
            wanted = [step * row + spread * tap for tap in range(taps)]
            assert places[first : first + taps] == wanted, taps
