"""Schemas that pydantic writes, none of which is refused, and values that pydantic accepts and
refuses. Pydantic itself judges, in the installed version.
"""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import re
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar

import pydantic
import pytest
from pydantic import ConfigDict, Field, TypeAdapter
from pydantic import networks as pydantic_networks
from pydantic import types as pydantic_types
from typing_extensions import TypedDict

from tests.engine.frontends.json_schema.gateway_compiler import as_the_gateway_does
from tests.engine.frontends.random_schemas import noise, takes

MODES = ("validation", "serialization")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Item(pydantic.BaseModel):
    name: str
    count: int = 0


class Closed(pydantic.BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Counted(pydantic.BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: int


class Tree(pydantic.BaseModel):
    name: str
    children: list["Tree"] = []


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    sound: str


class Kept(TypedDict):
    a: int
    b: NotRequired[str]


class Pair(NamedTuple):
    a: int
    b: str = "x"


@dataclasses.dataclass
class Data:
    a: int
    b: list[str] = dataclasses.field(default_factory=list)


X = TypeVar("X")


class Box(pydantic.BaseModel, Generic[X]):
    value: X


class Computed(pydantic.BaseModel):
    a: int

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> decimal.Decimal:
        return decimal.Decimal(2 * self.a)


class Numbers(pydantic.RootModel[list[int]]):
    pass


def text(**bounds: Any) -> Any:
    return Annotated[str, Field(**bounds)]


def amount(**bounds: Any) -> Any:
    return Annotated[decimal.Decimal, Field(**bounds)]


def of_version(n: int | str) -> str:
    return f"0191a3c4-5b6d-{n}abc-9def-0123456789ab"


#: name -> (type, JSON values that pydantic accepts, JSON values that it refuses)
KINDS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "str": (str, ["", "é😀"], [1, None]),
    "int": (int, [0, -5, 2**63], [1.5, None]),
    "float": (float, [0.5, -1e-7, 3], [None, []]),
    "bool": (bool, [True, False], [None, []]),
    "None": (None, [None], [0]),
    "bytes": (bytes, ["a"], [1]),
    "Any": (Any, [1, {"a": []}], []),
    "constr": (
        pydantic.constr(min_length=2, max_length=4, pattern="^[a-z]+$"), ["ab"], ["a", "abcde", "AB"]
    ),
    "a pattern that is searched": (text(pattern="b+"), ["abc"], ["ac"]),
    "a pattern of the whole text": (text(pattern=r"\A[a-z]+\z"), ["ab"], ["", "a1", "a\n"]),
    "a pattern with properties": (text(pattern=r"^\p{Lu}\p{Alphabetic}*$"), ["Éλ"], ["éλ", "É1"]),
    "a pattern and a length": (
        text(pattern="^[a-z]{1,300}-[a-z]{1,300}$", max_length=9), ["ab-cdefgh"], ["ab-cdefghi", "ab"]
    ),
    "conint": (pydantic.conint(gt=1, lt=10, multiple_of=3), [3, 9], [0, 4, 12]),
    "confloat": (pydantic.confloat(ge=0.5, le=2.5, allow_inf_nan=False), [0.5, 2.5], [0.4, 2.6]),
    "multiples of a fraction": (Annotated[float, Field(multiple_of=0.25)], [0.5, 3], [0.3]),
    "64 bits": (Annotated[int, Field(ge=-(2**63), lt=2**63)], [2**63 - 1], [2**63]),
    "Decimal": (decimal.Decimal, [1, 1.5, "1.50", "-0.001"], [None, True]),
    "Decimal of some digits": (amount(max_digits=5, decimal_places=2), [1.25, "999.99"], [None]),
    "Decimal with bounds": (amount(gt=0, le=100), [0.5, 100], [0, 101]),
    "Decimal of many digits": (amount(max_digits=200, decimal_places=100), ["0.1"], [None]),
    "Fraction": (fractions.Fraction, ["1/3", 0.5], [None]),
    "complex": (complex, ["1+2j"], [None]),
    "date": (datetime.date, ["2024-02-29"], ["2023-02-29", "x"]),
    "datetime": (
        datetime.datetime, ["2024-02-29T12:30:00Z", "2024-02-29T12:30:00.5+05:30"], ["x", "2024-02-30T12:30:00Z"]
    ),
    "AwareDatetime": (pydantic.AwareDatetime, ["2024-02-29T12:30:00Z"], ["2024-02-29T12:30:00"]),
    "PastDate": (pydantic.PastDate, ["2001-01-01"], ["x"]),
    "time": (datetime.time, ["12:30:00Z", "12:30:00.5+01:00"], ["x", "25:00:00Z"]),
    "timedelta": (datetime.timedelta, ["P1DT2H30M", "PT5S", "P3D"], ["x", "P"]),
    "UUID": (uuid.UUID, [of_version(4), of_version(7)], ["x", of_version("g")]),
    **{
        f"UUID{n}": (getattr(pydantic_types, f"UUID{n}"), [of_version(n)], [of_version(2), "x"])
        for n in (1, 3, 4, 5, 6, 7, 8)
    },
    "IPv4Address": (ipaddress.IPv4Address, ["1.2.3.4"], ["1.2.3", "256.1.1.1"]),
    "IPv6Address": (ipaddress.IPv6Address, ["::1", "1:2:3:4:5:6:7:8"], ["1:2", ":::"]),
    "IPv4Network": (ipaddress.IPv4Network, ["10.0.0.0/8"], [None]),
    "IPv6Interface": (ipaddress.IPv6Interface, ["::1/64"], [None]),
    "IPvAnyAddress": (pydantic.IPvAnyAddress, ["1.2.3.4", "::1"], [None]),
    "AnyUrl": (pydantic.AnyUrl, ["https://a.de/x?y#z", "redis://a"], ["x", None]),
    "HttpUrl": (pydantic.HttpUrl, ["https://a.de/"], ["x", "https://" + "a" * 2_100]),
    "Path": (pathlib.Path, ["/a/b", "."], [None]),
    "Pattern": (re.Pattern, ["^a+$"], [None]),
    "Base64Str": (pydantic.Base64Str, ["TWFu"], [None]),
    "Json": (pydantic.Json[int], ["1"], [1]),
    "JsonValue": (pydantic.JsonValue, [{"a": [1, None]}], []),
    "SecretStr": (pydantic.SecretStr, ["a"], [1]),
    "Secret": (pydantic.Secret[datetime.date], ["2024-02-29"], ["x"]),
    "ByteSize": (pydantic.ByteSize, [5, "1.5KiB", "3 MB"], [-1, "x"]),
    "Enum": (Color, ["red"], ["green", 1]),
    "IntEnum": (Level, [1], [3]),
    "Literal": (Literal["a", 1, None, True], ["a", 1, None, True], ["b", 2, False]),
    "a model": (Item, [{"name": "a", "count": 1}, {"name": "a"}], [{}, {"name": 1}, []]),
    "no additional keys": (Closed, [{"a": 1}], [{"a": 1, "b": 2}]),
    "typed additional keys": (Counted, [{"a": 1, "b": 2}], [{"a": 1, "b": "x"}]),
    "a recursive model": (
        Tree, [{"name": "a", "children": [{"name": "b", "children": []}]}], [{"name": "a", "children": [1]}]
    ),
    "a generic model": (Box[Box[int]], [{"value": {"value": 1}}], [{"value": 1}]),
    "a root model": (Numbers, [[1]], [["a"], {}]),
    "computed fields": (Computed, [{"a": 1}], [{}]),
    "a union": (int | str | None, [1, "a", None], [1.5, []]),
    "a discriminated union": (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        [{"kind": "cat", "lives": 9}, {"kind": "dog", "sound": "w"}],
        [{"kind": "cat", "sound": "w"}, {"kind": "cow"}],
    ),
    "TypedDict": (Kept, [{"a": 1}, {"a": 1, "b": "x"}], [{}, {"a": "x"}]),
    "NamedTuple": (Pair, [[1, "a"], [1]], [[], ["a"]]),
    "a dataclass": (Data, [{"a": 1, "b": ["x"]}], [{"b": []}]),
    "list": (list[int], [[], [1, 2]], [["a"], {}]),
    "conlist": (pydantic.conlist(int, min_length=1, max_length=2), [[1], [1, 2]], [[], [1, 2, 3]]),
    "set": (set[str], [[], ["a", "b"]], [[1]]),
    "frozenset of an enum": (frozenset[Color], [["red", "blue"]], [["green"]]),
    "set of short texts": (set[text(max_length=3)], [["a"]], [["abcd"]]),
    "deque": (Annotated[collections.deque[int], Field(max_length=2)], [[1]], [[1, 2, 3]]),
    "tuple": (tuple[int, str], [[1, "a"]], [[1], [1, "a", 2], ["a", "a"]]),
    "a tuple of any length": (tuple[int, ...], [[], [1, 2]], [["a"]]),
    "an empty tuple": (tuple[()], [[]], [[1]]),
    "dict": (dict[str, int], [{}, {"a": 1}], [{"a": "x"}]),
    "dict of an enum": (dict[Color, int], [{"red": 1}], [{"green": 1}]),
    "dict of a Literal": (dict[Literal["a", "b"], int], [{"a": 1}], [{"c": 1}]),
    "dict of UUIDs": (dict[uuid.UUID, int], [{of_version(4): 1}], [{"x": 1}]),
    "dict of short keys": (dict[text(max_length=2), int], [{"ab": 1}], [{"abc": 1}]),
    "dict with bounds": (
        Annotated[dict[str, int], Field(min_length=1, max_length=2)], [{"a": 1}], [{}, {"a": 1, "b": 2, "c": 3}]
    ),
    "OrderedDict": (collections.OrderedDict[str, int], [{"a": 1}], [{"a": "x"}]),
    "Mapping": (Mapping[str, list[Item | None]], [{"a": [None, {"name": "b"}]}], [{"a": [1]}]),
    "Sequence": (Sequence[datetime.date], [["2024-02-29"]], [["x"]]),
}  # fmt: skip

#: kinds of which pydantic asks more than their schema says
SAYS_LESS = (
    "Decimal", "Decimal of some digits", "Decimal with bounds", "Decimal of many digits", "Fraction", "complex",
    "PastDate", "IPv4Network", "IPv6Interface", "IPvAnyAddress", "HttpUrl", "Pattern", "Base64Str", "Json",
    "ByteSize",
)  # fmt: skip


def schema_of(kind: Any, mode: str) -> Any:
    """Return pydantic's schema; None: there is none, or an optional package is missing."""
    with warnings.catch_warnings():
        # of defaults that are not serialisable
        warnings.simplefilter("ignore")
        try:
            return TypeAdapter(kind).json_schema(mode=mode)  # type: ignore[arg-type]
        except (pydantic.PydanticUserError, TypeError, ImportError):
            return None


def types_of_pydantic() -> Iterator[tuple[str, Any]]:
    for module in (pydantic_types, pydantic_networks):
        for name in module.__all__:
            kind = getattr(module, name)
            if schema_of(kind, "validation") is not None:
                yield name, kind


TYPES = dict(types_of_pydantic())


def test_most_names_of_pydantic_are_types() -> None:
    assert len(TYPES) > 60 and {"UUID4", "SecretStr", "HttpUrl", "PastDate", "Json"} <= TYPES.keys()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TYPES)
def test_no_type_of_pydantic_is_refused(name: str, mode: str) -> None:
    schema = schema_of(TYPES[name], mode)
    assert schema is None or as_the_gateway_does(schema)


@pytest.mark.parametrize("name", KINDS)
def test_values_are_those_of_pydantic(name: str) -> None:
    kind, accepted, refused = KINDS[name]
    adapter, compiled = TypeAdapter(kind), as_the_gateway_does(schema_of(kind, "validation"))
    for value in accepted:
        written = json.dumps(value, ensure_ascii=False)
        adapter.validate_json(written)
        assert takes(compiled, written), written
    for value in refused:
        written = json.dumps(value, ensure_ascii=False)
        with pytest.raises(pydantic.ValidationError):
            adapter.validate_json(written)
        assert not takes(compiled, written), written


# pydantic writes a secret as stars, whatever its schema says
@pytest.mark.parametrize("name", [name for name in KINDS if name != "Secret"])
def test_serialised_values_are_in_the_schema_of_serialisation(name: str) -> None:
    kind, accepted, _ = KINDS[name]
    adapter, compiled = TypeAdapter(kind), as_the_gateway_does(schema_of(kind, "serialization"))
    for value in accepted:
        written = adapter.dump_json(adapter.validate_json(json.dumps(value)))
        assert takes(compiled, written), written


@pytest.mark.parametrize("name", [name for name in KINDS if name not in SAYS_LESS])
def test_pydantic_takes_noise(name: str) -> None:
    kind = KINDS[name][0]
    compiled = as_the_gateway_does(schema_of(kind, "validation"))
    for seed in range(10):
        written = noise(compiled, seed)
        if written is not None:
            TypeAdapter(kind).validate_json(written)
