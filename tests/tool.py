"""Commands in the process of a test: what they print, and how they end."""

import json
from collections.abc import Callable
from typing import Any

import pytest


class Tool:
    """A command; what was printed before it is not among what it prints."""

    def __init__(
        self, main: Callable[[list[str]], int], streams: pytest.CaptureFixture[str]
    ) -> None:
        self._main, self._streams = main, streams

    def __call__(self, *words: str, code: int = 0) -> Any:
        """Run it; what it prints on both streams: ``out`` and ``err``."""
        self._streams.readouterr()
        assert self._main(list(words)) == code
        return self._streams.readouterr()

    def out(self, *words: str, code: int = 0) -> str:
        """Run it; what it prints on the standard output."""
        text: str = self(*words, code=code).out
        return text

    def json(self, *words: str) -> Any:
        """Run it; the value that it prints as JSON, on one line."""
        text = self.out(*words, "--json")
        assert text.count("\n") == 1
        return json.loads(text)

    def err(self, *words: str, code: int = 1) -> str:
        """Run it; what it prints on the standard error."""
        text: str = self(*words, code=code).err
        return text
