"""Types that Python frameworks ask for, as their users write them.

Texts and lists are bounded: noise ends a text only where it must, or by chance. Numbers and formats
are not.
"""

from datetime import date, datetime, time, timedelta
from enum import Enum
from ipaddress import IPv4Address
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Short = Annotated[str, Field(max_length=8)]

PROMPT = "The weather in Oslo? Answer in JSON."


class Sky(Enum):
    CLEAR = "clear"
    CLOUDY = "cloudy"


class Place(BaseModel):
    name: Short
    country: Literal["no", "se"]


class Weather(BaseModel):
    """The weather of a place."""

    place: Place = Field(description="where it was read")
    celsius: float = Field(ge=-90, le=60)
    sky: Sky
    tags: list[Short] = Field(max_length=3)
    wind: int | None = None


class Formats(BaseModel):
    """Texts that have a type of their own in Python."""

    day: date
    at: datetime
    clock: time
    length: timedelta
    number: UUID
    address: IPv4Address
    code: str = Field(pattern=r"^[A-Z]{3}-\d{2,4}$")


class Numbers(BaseModel):
    """Numbers without bounds and with any."""

    real: float
    whole: int
    percent: float = Field(ge=0, le=100)
    above: float = Field(gt=0.5)
    even: int = Field(multiple_of=2, ge=0, lt=1000)


class Closed(BaseModel):
    """Without keys of noise's own, whose values may be anything, and long."""

    model_config = ConfigDict(extra="forbid")


class Circle(Closed):
    kind: Literal["circle"]
    radius: float = Field(gt=0, lt=1000)


class Box(Closed):
    kind: Literal["box"]
    sides: tuple[int, int]


class Drawing(Closed):
    """Unions, tables and a type that holds itself."""

    shape: Annotated[Circle | Box, Field(discriminator="kind")]
    either: int | Short | bool
    counts: dict[Literal["a", "b"], int]
    inside: "Drawing | None"


#: what OpenAI's own rules of ``strict`` take
STRICT_SHAPES: tuple[type[BaseModel], ...] = (Weather, Formats, Numbers)
SHAPES: tuple[type[BaseModel], ...] = (*STRICT_SHAPES, Drawing)
