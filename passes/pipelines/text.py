"""The text of a pipeline as a tree: ``builtin.module(a,func.func(b),c{opt=3 flag})``.

The grammar is mlir-opt's: elements are separated by commas; an element is a pass with
options in braces, or an op with a nested pipeline in parentheses. A value of an option
may be quoted ('…' or "…") or braced, and braces nest. Nothing here knows which passes
exist.
"""

from dataclasses import dataclass, replace

from morello.errors import PipelineError

_WIDTH = 400
"""Characters of a line that a picture shows."""

DEEPEST = 100
"""How deep pipelines may be nested: ops are nested less deep."""


class PipelineTextError(PipelineError):
    """A pipeline that cannot be read, with the column at fault.

    Args:
        text: the whole pipeline.
        offset: the character at fault, from 0; reported as a column from 1.
        what: the reason.
        remedy: what to write instead.
    """

    def __init__(self, text: str, offset: int, what: str, remedy: str = "") -> None:
        super().__init__(f"pipeline column {offset + 1}: {what}", remedy)
        self.text = text
        self.offset = offset

    def picture(self) -> str:
        """The line of the pipeline at fault, and a caret below the character."""
        start = self.text.rfind("\n", 0, self.offset) + 1
        end = self.text.find("\n", self.offset)
        line = self.text[start : end if end >= 0 else None].replace("\t", " ")
        column = self.offset - start
        if len(line) > _WIDTH:  # what is around the character
            first = max(column - _WIDTH // 2, 0)
            line, column = line[first : first + _WIDTH], column - first
        return f"{line}\n{' ' * column}^"


@dataclass(frozen=True)
class Element:
    """A pass or a nested pipeline.

    Args:
        name: of the pass, or of the op that anchors a nested pipeline.
        offset: of its first character in the text.
        options: the text between the braces, or None.
        options_offset: of its first character.
        nested: the elements between the parentheses, or None for a pass.
    """

    name: str
    offset: int
    options: str | None = None
    options_offset: int = 0
    nested: "tuple[Element, ...] | None" = None

    def moved_to(self, offset: int) -> "Element":
        """Copy the element as if all of it stood at ``offset``, for errors."""
        nested = self.nested and tuple(one.moved_to(offset) for one in self.nested)
        return replace(self, offset=offset, options_offset=offset, nested=nested)

    def __str__(self) -> str:
        if self.nested is not None:
            return f"{self.name}({','.join(map(str, self.nested))})"
        return self.name + ("" if self.options is None else f"{{{self.options}}}")


def parse_elements(text: str) -> tuple[Element, ...]:
    """Read a list of elements; an empty text is an empty list.

    Raises:
        PipelineTextError: the column and reason.
    """
    reader = _Reader(text)
    elements = reader.elements()
    if reader.offset < len(text):
        raise reader.error(f"unexpected '{text[reader.offset]}'", "remove it")
    return elements


def parse_options(
    text: str, whole: str = "", start: int = 0
) -> list[tuple[str, str | None, int]]:
    """Read ``key=value flag key='a b'`` as (key, value or None, offset in ``whole``).

    Args:
        text: what stands between the braces.
        whole: the pipeline that it is part of, for errors.
        start: where ``text`` begins in ``whole``.
    """
    reader = _Reader(whole or text, start, start + len(text))
    options: list[tuple[str, str | None, int]] = []
    while reader.skip_space():
        at = reader.offset
        key = reader.until(" \t\n=")
        if not key:
            raise reader.error("an option without a name", "write name=value")
        if reader.peek() != "=":
            options.append((key, None, at))
            continue
        reader.offset += 1
        options.append((key, reader.value(), at))
    return options


class _Reader:
    """A cursor over the text, with an end."""

    def __init__(self, text: str, offset: int = 0, end: int | None = None) -> None:
        self.text = text
        self.offset = offset
        self.end = len(text) if end is None else end
        self.depth = 0

    def error(self, what: str, remedy: str, at: int | None = None) -> PipelineTextError:
        where = self.offset if at is None else at
        return PipelineTextError(self.text, where, what, remedy)

    def peek(self) -> str:
        return self.text[self.offset] if self.offset < self.end else ""

    def skip_space(self) -> bool:
        """Step over white space; whether anything follows."""
        while self.peek().isspace():
            self.offset += 1
        return self.offset < self.end

    def until(self, stops: str) -> str:
        start = self.offset
        while self.peek() and self.peek() not in stops:
            self.offset += 1
        return self.text[start : self.offset]

    def elements(self) -> tuple[Element, ...]:
        elements_read: list[Element] = []
        self.skip_space()
        if self.peek() in ("", ")"):
            return ()
        while True:
            elements_read.append(self.element())
            if self.peek() != ",":
                return tuple(elements_read)
            self.offset += 1

    def element(self) -> Element:
        self.skip_space()
        at = self.offset
        name = self.until(" \t\n,{}()")
        self.skip_space()
        if not name:
            raise self.error(
                f"a pass name is missing before '{self.peek()}'"
                if self.peek()
                else "a pass name is missing at the end",
                "write a pass, or remove the comma",
            )
        options, options_at = None, 0
        if self.peek() == "{":
            options_at = self.offset + 1
            options = self.braced()
            self.skip_space()
        if self.peek() != "(":
            return self.ended(Element(name, at, options, options_at))
        if options is not None:
            raise self.error(
                f"'{name}' has options and a nested pipeline",
                "an op that anchors a pipeline takes no options",
            )
        return self.ended(Element(name, at, nested=self.parenthesised()))

    def ended(self, element: Element) -> Element:
        self.skip_space()
        if self.peek() not in ("", ",", ")"):
            raise self.error(
                f"unexpected '{self.peek()}' after '{element.name}'",
                "separate elements by commas",
            )
        return element

    def parenthesised(self) -> tuple[Element, ...]:
        opened = self.offset
        if self.depth == DEEPEST:
            raise self.error(
                f"pipelines are nested more than {DEEPEST} deep", "nest fewer"
            )
        self.offset += 1
        self.depth += 1
        elements = self.elements()
        if self.peek() != ")":
            raise self.error("this '(' is not closed", "add a ')'", opened)
        self.offset += 1
        self.depth -= 1
        return elements

    def braced(self) -> str:
        """The text between this brace and its match; quotes hide braces."""
        opened = self.offset
        stack: list[str] = []
        while self.offset < self.end:
            char = self.peek()
            if char in "'\"":
                self.quoted()
                continue
            if char == "{":
                stack.append(char)
            elif char == "}":
                stack.pop()
            self.offset += 1
            if not stack:
                return self.text[opened + 1 : self.offset - 1]
        raise self.error("this '{' is not closed", "add a '}'", opened)

    def quoted(self) -> str:
        quote, opened = self.peek(), self.offset
        close = self.text.find(quote, opened + 1, self.end)
        if close < 0:
            raise self.error(f"this {quote} is not closed", f"add a {quote}", opened)
        self.offset = close + 1
        return self.text[opened + 1 : close]

    def value(self) -> str:
        if self.peek() == "{":
            return self.braced()
        if self.peek() and self.peek() in "'\"":
            return self.quoted()
        return self.until(" \t\n")
