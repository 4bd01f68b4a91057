"""The page: well formed, complete, and nothing in it that is loaded or run."""

from html.parser import HTMLParser
from itertools import pairwise

import pytest

from morello.explain import Explanation, Request, as_page, as_text, explain
from morello.explain.picture import nested
from morello.explain.words import Clock
from morello.machine import AVX2
from morello.search import Solver
from morello.spec import parse_spec

pytestmark = pytest.mark.quick

VOID = {"meta", "rect", "link", "img", "br"}


class Reader(HTMLParser):
    """Collects tags, and refuses what is not nested properly."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    """A program with a remainder, a packed operand and registers."""
    spec = parse_spec("matmul:7x5x17:f32:l1=128:l2=0", AVX2.limits)
    return explain(spec, Solver(AVX2), Request(None))


@pytest.fixture(scope="module")
def page(explanation: Explanation) -> Reader:
    """Its page, read."""
    reader = Reader()
    reader.feed(as_page(explanation, Clock(3.0), 5, unfold=True))
    reader.close()
    return reader


def test_a_page_with_folded_moves_is_well_formed(explanation: Explanation) -> None:
    reader = Reader()
    reader.feed(as_page(explanation, Clock(3.0), 5))
    reader.close()
    assert reader.open == []
    numbers = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert {f"n{node.number}" for node in explanation.root.walk()} <= {*numbers}


def test_page_is_well_formed(page: Reader) -> None:
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)


def test_page_loads_and_runs_nothing(explanation: Explanation, page: Reader) -> None:
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "link", "img", "iframe", "object", "embed"})
    for _, attrs in page.tags:
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)
    source = as_page(explanation, Clock(3.0), 5)
    assert "@import" not in source
    assert "url(" not in source
    assert "prefers-color-scheme: dark" in source


def test_page_has_every_node_with_its_pictures(
    explanation: Explanation, page: Reader
) -> None:
    nodes = list(explanation.root.walk())
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert ids == {f"n{node.number}" for node in nodes}
    pictures = [tag for tag, _ in page.tags if tag == "svg"]
    hottest = len(explanation.hottest().tiles)
    assert len(pictures) == hottest + sum(len(n.tiles) for n in nodes)
    text = "".join(page.text)
    for node in nodes:
        assert str(node.impl.action) in text


def test_page_shows_as_many_alternatives_as_asked_for(explanation: Explanation) -> None:
    some = explanation.root.alternatives
    assert some is not None
    text = as_text(explanation, Clock(3.0), 2)
    assert f"{len(some.rejected) - 2} costlier not shown" in text
    assert str(some.rejected[1].action) in text
    source = as_page(explanation, Clock(3.0), 2)
    assert f"{len(some.rejected) - 2} costlier not shown" in source


@pytest.mark.parametrize(
    "shapes",
    [
        [(512, 512)],
        [(512, 512), (256, 512), (6, 192), (6, 16)],
        [(1, 1_000_000), (1, 64), (1, 1)],
        [(3, 5), (3, 5), (3, 5), (3, 5), (3, 5), (1, 1)],
        [(1, 1), (1, 1)],
    ],
)
def test_frames_lie_within_each_other(shapes: list[tuple[int, int]]) -> None:
    frames = nested(shapes, 150)
    assert len(frames) == len(shapes)
    for outer, inner in pairwise(frames):
        x, y, width, height = inner
        assert width >= 1
        assert height >= 1
        assert x + width <= outer[0] + outer[2] - 4
        assert y + height <= outer[1] + outer[3] - 4
    assert max(frames[0][2:]) <= 150
