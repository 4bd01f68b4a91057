"""Short names of graphs: what ``softmax:32x4096`` stands for."""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from morello.errors import SpecError
from morello.spec.graphs.commuting import with_inputs_in_place
from morello.spec.graphs.expression import SizeNumber
from morello.spec.graphs.graph import Graph, with_sizes
from morello.spec.graphs.loops import LOWEST
from morello.spec.graphs.text import parse_named
from morello.spec.text.graphs import print_graph

NO_RANGES: Mapping[str, int] = MappingProxyType({})

Options = dict[str, str]
"""Options of the text form that a name takes; what it takes is removed."""


@dataclasses.dataclass(frozen=True)
class ShortName:
    """A name, its dimensions in the order of the sizes, and its graph."""

    name: str
    dims: tuple[str, ...]
    summary: str
    graph: str | Callable[[dict[str, int], Options], str]
    """The text of the graph, or from the size of each dimension to the text."""
    optional: int = 0
    """Leading dimensions that may be left out."""

    def text(self, dims: dict[str, int], options: Options) -> str:
        """The text of the graph whose dimensions have these sizes."""
        return self.graph if isinstance(self.graph, str) else self.graph(dims, options)


def _layer_norm(dims: dict[str, int], options: Options) -> str:
    return (
        "s[r]=sum(x[r,n]);u[r]=1.0/size(n)*s;c[r,n]=x-u;q[r]=sum(square(c));"
        f"w[r]=rsqrt(1.0/size(n)*q+{_eps(options)!r});y[r,n]=c*w*g[n]+b[n]"
    )


def _rms_norm(dims: dict[str, int], options: Options) -> str:
    return (
        f"q[r]=sum(square(x[r,n]));w[r]=rsqrt(1.0/size(n)*q+{_eps(options)!r});"
        "y[r,n]=x*w*g[n]"
    )


def _gelu_matmul(dims: dict[str, int], options: Options) -> str:
    form = options.pop("gelu", "tanh")
    if form not in ("tanh", "erf"):
        raise SpecError(f"option gelu={form}", "write gelu=tanh or gelu=erf")
    if form == "tanh":
        return "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=gelu(t+c[n])"
    return (
        "t[m,n]=sum(a[m,k]*w[k,n]);u[m,n]=t+c[n];"
        f"y[m,n]=u*((erf(u*{1.0 / math.sqrt(2.0)!r})+1.0)*0.5)"
    )


def _attention(dims: dict[str, int], options: Options) -> str:
    b = "b," if dims["b"] > 1 else ""
    scores = "1.0/sqrt(size(d))*s"
    causal = options.pop("causal", "false")
    if causal not in ("true", "false"):
        raise SpecError(f"option causal={causal}", "write causal=true or causal=false")
    mask = ""
    if causal == "true":
        mask = (
            f"z[{b}q,k]=where(less_equal(key_place[k],query_place[q]),{scores},"
            f"{LOWEST!r});"
        )
        scores = "z"
    return (
        f"s[{b}q,k]=sum(Q[{b}q,d]*K[{b}k,d]);{mask}m[{b}q]=max({scores});"
        f"p[{b}q,k]=exp({scores}-maximum(m,{LOWEST!r}));l[{b}q]=sum(p);"
        f"o[{b}q,e]=sum(p*V[{b}k,e]);y[{b}q,e]=o/l"
    )


def _conv(dims: dict[str, int], options: Options) -> str:
    pad, stride, dilation, groups = (
        _count(options, name, least, default)
        for name, least, default in (
            ("pad", 0, 0),
            ("stride", 1, 1),
            ("dilation", 1, 1),
            ("groups", 1, 1),
        )
    )
    layout = options.pop("layout", "nchw")
    if layout not in ("nchw", "nhwc"):
        raise SpecError(f"option layout={layout}", "write layout=nchw or layout=nhwc")
    for name in ("c", "f"):
        if dims[name] % groups:
            raise SpecError(
                f"{groups} groups do not share {name} = {dims[name]} evenly",
                "use a divisor",
            )
    rows, columns = (
        _window(dims[size], dims[tap], pad, stride, dilation)
        for size, tap in (("h", "fh"), ("w", "fw"))
    )
    for name, size in (("u", rows[0]), ("v", columns[0])):
        if size < 1:
            raise SpecError(
                f"the filter {dims['fh']}x{dims['fw']} does not fit the input "
                f"{dims['h']}x{dims['w']}",
                "give pad=…, or a smaller filter",
            )
        dims[name] = size
    step = "" if stride == 1 else f"{stride}*"
    tap = "" if dilation == 1 else f"{dilation}*"
    row = _axis(f"{step}u+{tap}i", pad, rows[1])
    column = _axis(f"{step}v+{tap}j", pad, columns[1])
    dims["i"], dims["j"] = dims["fh"], dims["fw"]
    n = "n," if dims["n"] > 1 else ""
    dims["g"], dims["c"], dims["f"] = groups, dims["c"] // groups, dims["f"] // groups
    g = "g," if groups > 1 else ""
    f, c = ("f,", "c,")
    if groups > 1 and dims["c"] == dims["f"] == 1:  # depthwise
        f = c = ""
        if layout == "nhwc":  # vectors lie along groups
            return f"y[{n}u,v,g]=sum(w[i,j,g]*x[{n}{row},{column},g])"
    if layout == "nhwc":
        return (
            f"y[{n}u,v,{g}{f}]=sum(w[{g}{f}i,j,{c}]*x[{n}{row},{column},{g}{c}])"
        ).replace(",]", "]")
    return f"y[{n}{g}{f}u,v]=sum(w[{g}{f}{c}i,j]*x[{n}{g}{c}{row},{column}])"


def _window(
    size: int, taps: int, pad: int, stride: int, dilation: int
) -> tuple[int, int]:
    """The outputs along an axis, and the places after its last element."""
    reach = dilation * (taps - 1) + 1
    count = (size + 2 * pad - reach) // stride + 1
    return count, (count - 1) * stride + reach - pad - size


def _axis(text: str, before: int, after: int) -> str:
    return f"pad({text},{before},{after})" if before or after else text


_MOST = (1 << 16) - 1
"""The largest padding, step and dilation."""


def _count(options: Options, name: str, least: int, default: int) -> int:
    text = options.pop(name, str(default))
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or not least <= int(text) <= _MOST:
        raise SpecError(
            f"option {name}={text} is no integer from {least} to {_MOST}",
            f"write {name}={max(least, 1)}",
        )
    return int(text)


def _eps(options: Options) -> float:
    text = options.pop("eps", "1e-05")
    try:
        eps = float(text)
    except ValueError:
        eps = math.nan
    if not 0 <= eps < 1:
        raise SpecError(f"option eps={text}", "write a small number, as eps=1e-5")
    return eps


SHORT_NAMES = {
    name.name: name
    for name in (
        ShortName(
            "softmax",
            ("r", "n"),
            "exp(x - max) of each row over its sum.",
            f"m[r]=max(x[r,n]);p[r,n]=exp(x-maximum(m,{LOWEST!r}));l[r]=sum(p);"
            "i[r]=1.0/l;y[r,n]=p*i",
        ),
        ShortName(
            "log_softmax",
            ("r", "n"),
            "The logarithm of softmax.",
            f"m[r]=max(x[r,n]);p[r,n]=exp(x-maximum(m,{LOWEST!r}));l[r]=sum(p);"
            "z[r]=m+log(l);y[r,n]=x-z",
        ),
        ShortName(
            "softmax_max_and_sum",
            ("r", "n"),
            "The maximum m of each row, and the sum of exp(x - m).",
            f"out m[r]=max(x[r,n]);p[r,n]=exp(x-maximum(m,{LOWEST!r}));out l[r]=sum(p)",
        ),
        ShortName(
            "softmax_unscaled",
            ("r", "n"),
            "exp(x - m) of each row, and its sum.",
            f"m[r]=max(x[r,n]);out p[r,n]=exp(x-maximum(m,{LOWEST!r}));out l[r]=sum(p)",
        ),
        ShortName(
            "softmax_complete",
            ("r", "n"),
            "exp(x - m) / l of rows whose maximum m and sum l are known.",
            f"i[r]=1.0/l[r];y[r,n]=exp(x[r,n]-maximum(m[r],{LOWEST!r}))*i",
        ),
        ShortName(
            "layer_norm",
            ("r", "n"),
            "Rows less their mean, over their deviation, times g, plus b.",
            _layer_norm,
        ),
        ShortName(
            "rms_norm",
            ("r", "n"),
            "Rows over the root of their mean square, times g.",
            _rms_norm,
        ),
        ShortName(
            "gelu_matmul",
            ("m", "k", "n"),
            "gelu(a·w + c), with a bias for each column.",
            _gelu_matmul,
        ),
        ShortName(
            "residual_matmul",
            ("m", "k", "n"),
            "a·w + c.",
            "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t+c[m,n]",
        ),
        ShortName(
            "chain",
            ("m", "k", "j", "n"),
            "(a·b)·c.",
            "t[m,j]=sum(a[m,k]*b[k,j]);y[m,n]=sum(t*c[j,n])",
        ),
        ShortName(
            "attention",
            ("b", "q", "k", "d", "e"),
            "softmax(Q·Kᵀ/sqrt(d))·V of each of b heads.",
            _attention,
            optional=1,
        ),
        ShortName(
            "conv",
            ("n", "c", "h", "w", "f", "fh", "fw"),
            "Filters w over images x.",
            _conv,
        ),
    )
}


@dataclasses.dataclass(frozen=True)
class Named:
    """Canonical graph that a short name stands for, with sizes."""

    graph: Graph
    sizes: tuple[int, ...]

    @property
    def text(self) -> str:
        """The graph as text."""
        return print_graph(self.graph)


def expanded(
    label: str, written: tuple[int, ...], options: Options, ranges: tuple[int, ...] = ()
) -> Named:
    """The graph that a short name stands for.

    Args:
        ranges: the number of the range that each size is the greatest of, -1 of none.

    Raises:
        SpecError: another number of sizes, or an option without a meaning.
    """
    short = SHORT_NAMES[label]
    missing = len(short.dims) - len(written)
    if not 0 <= missing <= short.optional:
        counts = {len(short.dims) - short.optional, len(short.dims)}
        raise SpecError(
            f"{label} has {' or '.join(map(str, sorted(counts)))} sizes, not "
            f"{len(written)}",
            f"give {'x'.join(short.dims[short.optional :])}",
        )
    sizes = (1,) * missing + written
    by_name = dict(zip(short.dims, sizes, strict=True))
    of_ranges = dict(zip(short.dims[missing:], ranges, strict=False))
    first, dims = short.dims[0], dict(by_name)
    if of_ranges.get(first, -1) >= 0:  # of several images or heads, if a call says so
        dims[first] = 2
    text = short.text(dims, options)
    return named(text, dims | {first: by_name[first]}, of_ranges)


def named(
    text: str, sizes: dict[str, int], ranges: Mapping[str, int] = NO_RANGES
) -> Named:
    """The canonical form of a graph whose dimensions have sizes by name.

    Args:
        ranges: the number of the range that the size of a dimension is the greatest
            of, -1 of none.

    Raises:
        SpecError: a dimension has no size.
    """
    graph, names = parse_named(text)

    def size(of: str | int) -> SizeNumber | int:
        if isinstance(of, int):
            return SizeNumber("size", (of,))
        if of not in sizes:
            raise SpecError(
                f"the graph has size({of}), and no dimension {of}",
                f"name one of {', '.join(names.dims)}",
            )
        number = ranges.get(of, -1)
        return sizes[of] if number < 0 else SizeNumber("size", (number,))

    graph = with_sizes(graph, size)
    missing = [name for name in names.dims if name not in sizes]
    if missing:
        raise SpecError(
            f"the graph has the dimension '{missing[0]}', which has no size",
            f"give {','.join(f'{n}=…' for n in names.dims)}",
        )
    part = with_inputs_in_place(graph)
    by_number = {number: name for name, number in names.dims.items()}
    part_sizes = tuple(sizes[by_number[dim]] for dim in part.dims)
    return Named(part.graph, part_sizes)


@lru_cache(maxsize=4096)
def short_text(
    text: str, sizes: tuple[int, ...], ranges: tuple[int, ...] = ()
) -> tuple[str, tuple[int, ...]] | None:
    """The short name of a canonical graph, with its sizes; None if it has none.

    Args:
        ranges: see `expanded`.
    """
    for short in SHORT_NAMES.values():
        for optional in range(short.optional + 1):
            count = len(short.dims) - optional
            if count != len(sizes):
                continue
            sizes_of_name = _reordered(short, optional, text, sizes, ranges)
            if sizes_of_name is not None:
                return short.name, sizes_of_name
    return None


def _reordered(
    short: ShortName,
    optional: int,
    text: str,
    sizes: tuple[int, ...],
    ranges: tuple[int, ...],
) -> tuple[int, ...] | None:
    """The sizes in the order of a name, where its graph is ``text``."""
    names = short.dims[optional:]
    # The order does not depend on the sizes, but for dimensions of size 1.
    # A convolution has other dimensions than sizes, and no way back.
    probe = dict.fromkeys(short.dims, 2) | dict.fromkeys(short.dims[:optional], 1)
    graph, known = parse_named(short.text(probe, {}))
    by_number = {number: name for name, number in known.dims.items()}
    order = [by_number[dim] for dim in with_inputs_in_place(graph).dims]
    if {*order} != {*names}:
        return None
    by_name = dict(zip(order, sizes, strict=True))
    in_order = tuple(by_name[name] for name in names)
    of_ranges = dict(zip(order, ranges, strict=False))
    ranges_in_order = tuple(of_ranges.get(name, -1) for name in names)
    again = expanded(short.name, in_order, {}, ranges_in_order)
    return in_order if (again.text, again.sizes) == (text, sizes) else None
