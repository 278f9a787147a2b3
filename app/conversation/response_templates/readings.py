"""Readings of the field of calls: the shapes and the notations that its keys may mean.

A pattern has alternatives and JSON has orders, so a field may mean several texts. A rendered call
tells which; without one, the first reading counts.

Not here    the white space (call_shape), the family (response_template).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from adapters.formats import JSON, GemmaArguments, Notation, PythonArguments
from engine import STYLES, Style

from .call_shape import CallShape, ElementShape, Hole, Junk, Part, json_parts
from .patterns import Gap, Group, Pieces, Text, tidy
from .template_field import TemplateField, checked_style, shown
from .transform import CallTarget

#: meanings of a field of calls; real templates have up to four. Each is compared with the rendered
#: calls. A derivation takes 0.1 to 4 ms, and 8 ms with 64 meanings and the longest rendered text
MAX_READINGS = 64


@dataclass(frozen=True)
class Reading:
    """A meaning of the field of calls. ``id``: the group of the id before the arguments.

    The group of the name has no meaning here: it tells readers where a name ends, and most are
    written for the names that their author knew.
    """

    shape: CallShape
    notation: Notation = JSON
    element: ElementShape | None = None
    id: Group | None = None


def readings_of(
    each: TemplateField, stops: Collection[str], *, is_marked: bool
) -> tuple[list[Reading], list[str]]:
    """Return the meanings of the field of calls, the likeliest first, and notes about them.

    ``is_marked``: content has marks, so only calls follow a call.

    Raises:
        UnusableTemplate: the field means no call with a grammar.
    """
    begins = [pieces for pieces in each.delimiters("open") or [] if pieces]
    if not begins:
        raise each.fail("open", "missing, or without text: any text may be a call")
    closing, joins = _ends(each, stops, is_marked=is_marked)
    target = CallTarget.of(each)
    notes = []
    if each.content == "text":
        notes = [f"{each.path}: arguments are text to transformers; here they are JSON"]
    made = (
        reading
        for begin, end in product(begins, closing)
        for reading in _Reader(each, target, begin, end, joins).readings()
    )
    found = list(islice(made, MAX_READINGS + 1))
    if len(found) > MAX_READINGS:
        raise each.fail("open", f"and the other keys describe more than {MAX_READINGS} calls")
    return found, notes


def _ends(
    each: TemplateField, stops: Collection[str], *, is_marked: bool
) -> tuple[list[Pieces], tuple[str, ...]]:
    """Return the texts behind a call, the likeliest first, and those between two calls.

    A text that stops the answer is no part of the call. If content has marks, nothing but calls
    follows one, so the other texts can stand between two calls.
    """
    ends = each.delimiters("close") or [()]
    if any(not isinstance(piece, Text | Gap) for pieces in ends for piece in pieces):
        raise each.fail("close_pattern", "has text that is not fixed")
    rests = [_without_stop(pieces, stops) for pieces in ends]
    others = [rest for rest in rests if rest]
    if not others:
        return [()], ()
    if is_marked and () in rests:
        return [()], tuple(rest[0].text for rest in others if isinstance(rest[0], Text))
    return others, ()


def _without_stop(pieces: Pieces, stops: Collection[str]) -> Pieces:
    last = pieces[-1] if pieces else None
    if isinstance(last, Text):
        for stop in filter(last.text.endswith, filter(None, stops)):
            rest = last.text.removesuffix(stop)
            return (*pieces[:-1], Text(rest)) if rest else pieces[:-1]
    return pieces


@dataclass(frozen=True)
class _Reader:
    """A reader of the field of calls, for one text that opens a call and one that closes it."""

    each: TemplateField
    target: CallTarget
    begin: Pieces
    end: Pieces
    joins: tuple[str, ...]

    def readings(self) -> list[Reading]:
        content = self.each.content
        if content in ("json", "text"):
            return self._json()
        if content == "xml-inline":
            self.target.require_whole(self.each)
            return [self._made([Junk()], [Junk()], JSON, shape) for shape in self._elements()]
        if content == "kv-lines":
            self.target.require_whole(self.each)
            return [self._made([Gap("\n")], [Gap()], JSON, self._line())]
        if content == "python-call-list":
            return self._python_calls()
        raise self.each.fail("content", f"{shown(content)} is no notation of arguments")

    def _made(
        self,
        before: Sequence[Part],
        behind: Sequence[Part],
        notation: Notation,
        element: ElementShape | None = None,
    ) -> Reading:
        """Return the reading with these parts around the arguments."""
        call = tidy([*self._opening(), *before, Hole("arguments"), *behind, *self.end])
        if isinstance(call[-1], Gap | Junk):
            call = call[:-1]
        shape = CallShape(call, separators=self.joins)
        groups = (piece for piece in self.begin if isinstance(piece, Group))
        own = next((group for group in groups if group.name == self.target.id_group), None)
        return Reading(shape, notation, element, own)

    def _opening(self) -> list[Part]:
        first, target, fail = self.begin[0], self.target, self.each.fail
        if not isinstance(first, Text) or not first.text.strip():
            raise fail("open", "does not begin with fixed text")
        parts: list[Part] = []
        for piece in self.begin:
            if isinstance(piece, Text | Gap):
                parts.append(piece)
            elif isinstance(piece, Group) and piece.name == target.name_group:
                parts.append(Hole("name"))
            elif isinstance(piece, Group) and piece.name == target.id_group:
                parts.append(Hole("id"))
            else:
                raise fail("open_pattern", "has text that is neither fixed nor the name or the id")
        for value, group in (("name", target.name_group), ("id", target.id_group)):
            if group is not None and parts.count(Hole(value)) != 1:  # type: ignore[arg-type]
                raise fail("transform", f"names {{{group}}}, which the open pattern lacks")
        return parts

    # -- JSON --------------------------------------------------------------------------------------
    def _json(self) -> list[Reading]:
        quote = self._quote()
        if quote is not None:
            self.target.require_whole(self.each)
            return [self._made([Gap(), Text("{")], [Text("}"), Gap()], self._gemma(quote))]
        found = []
        for members in self.target.members(self.each):
            inside = json_parts(members)
            at = inside.index(Hole("arguments"))
            if self.target.is_list:
                found.append(Reading(self._list_shape(inside)))
            else:
                before, behind = [Gap(), *inside[:at]], [*inside[at + 1 :], Gap()]
                found.append(self._made(before, behind, JSON))
        return found

    def _quote(self) -> str | None:
        """Return the mark around strings of Gemma's notation; None: the content is JSON."""
        if self.each.content == "text":
            self.each.options({"strip"})
            return None
        options = self.each.options({"unquoted_keys", "string_delims", "allow_non_json"})
        pairs, has_bare_keys = options.get("string_delims", []), options.get("unquoted_keys")
        if not has_bare_keys and not pairs:
            return None
        pair = pairs[0] if isinstance(pairs, list) and len(pairs) == 1 else None
        texts = pair if isinstance(pair, list) and len(pair) == 2 else [None, None]
        quote = texts[0]
        if not isinstance(quote, str) or quote != texts[1] or len(quote) < 2:
            raise self.each.fail("content_args", "string_delims must be one mark, twice")
        if has_bare_keys is not True:
            raise self.each.fail("content_args", "string_delims need unquoted_keys")
        self.each.literal("content_args.string_delims", quote)
        return quote

    def _gemma(self, quote: str) -> GemmaArguments:
        for name, style in STYLES.items():
            if style.values == "gemma" and style.quote == quote:
                return GemmaArguments(name)
        style = Style("{key}:", "", values="gemma", separator=",", quote=quote, any_order=True)
        return GemmaArguments(checked_style(self.each, style))

    # -- elements and lines ------------------------------------------------------------------------
    def _elements(self) -> list[ElementShape]:
        options = self.each.options({"tag_pattern", "value_parser", "merge_duplicates"})
        self._check_values(options)
        found = self.each.pattern("content_args.tag_pattern", options.get("tag_pattern"))
        shapes = [shape for pieces in found if (shape := _element(pieces))]
        if not shapes:
            why = "is no fixed text around a group 'key' and any text in a group 'value'"
            raise self.each.fail("content_args.tag_pattern", why)
        return shapes

    def _line(self) -> ElementShape:
        options = self.each.options({"line_sep", "kv_sep", "value_parser", "strip"})
        self._check_values(options)
        line = self.each.literal("content_args.line_sep", options.get("line_sep", "\n"))
        pair = self.each.literal("content_args.kv_sep", options.get("kv_sep", ":"))
        return ElementShape((), tidy([*pair, Gap(" ")]), line)  # type: ignore[arg-type]

    def _check_values(self, options: Mapping[str, Any]) -> None:
        """Raise UnusableTemplate unless strings are written as they are, and others as JSON."""
        parser = options.get("value_parser")
        if parser is None:
            return
        kind = parser.get("name", "text") if isinstance(parser, Mapping) else None
        inner = parser.get("args", {}) if isinstance(parser, Mapping) else None
        if kind not in ("text", "json") or not isinstance(inner, Mapping):
            raise self.each.fail("content_args.value_parser", "must read text or JSON")
        if kind == "json" and inner.get("allow_non_json") is not True:
            raise self.each.fail("content_args.value_parser", "must allow text that is no JSON")
        if set(inner) - {"allow_non_json", "strip"}:
            raise self.each.fail("content_args.value_parser", "describes values without a notation")

    # -- Python ------------------------------------------------------------------------------------
    def _python_calls(self) -> list[Reading]:
        self.each.options(())
        target = self.target
        if not target.is_list or target.name_path != ("name",) or target.path != ("arguments",):
            raise self.each.fail("transform", "must take {name} and {arguments} of each call")
        if target.id_path:
            raise self.each.fail("transform", "takes an id, which Python's calls lack")
        shape = self._list_shape([Hole("name"), Text("("), Hole("arguments"), Text(")")])
        notations = (PythonArguments(quote=quote) for quote in ("'", '"'))
        return [Reading(shape, notation) for notation in notations]

    def _list_shape(self, inside: Sequence[Part]) -> CallShape:
        """Return the shape of calls in one list."""
        before = tidy([*self._opening(), Gap(), Text("["), Gap()])
        behind = tidy([Gap(), Text("]"), *([Gap(), *self.end] if self.end else [])])
        return CallShape(tuple(inside), (before, behind), separators=(",",))


def _element(pieces: Pieces) -> ElementShape | None:
    """Return the shape of an element: fixed texts around key and value; None: it has others."""
    at = [number for number, piece in enumerate(pieces) if not isinstance(piece, Text | Gap)]
    if [getattr(pieces[number], "name", None) for number in at] != ["key", "value"]:
        return None
    before, between, after = pieces[: at[0]], pieces[at[0] + 1 : at[1]], pieces[at[1] + 1 :]
    closes = next((piece.text for piece in after if isinstance(piece, Text)), "")
    value = pieces[at[1]]
    if not before or not isinstance(before[0], Text) or not closes.strip():
        return None
    if not isinstance(value, Group) or not all(run.others for run in value.runs):
        return None
    excluded = frozenset[str]().union(*(run.excluded for run in value.runs))
    if excluded - {closes[0]}:
        return None
    fixed = (before, between, after)
    return ElementShape(*fixed, guard="".join(excluded))  # type: ignore[arg-type]
