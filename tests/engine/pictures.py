"""The pictures in engine/DESIGN.md, drawn by the engine's own ``inspect``.

    python -m tests.engine.pictures          needs Graphviz's ``dot``

A picture carries the hash of the drawing that it was made from; a test makes the drawing again.
"""

import subprocess
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import engine
from tests.vocabularies import small_vocabulary

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


@dataclass(frozen=True)
class Picture:
    name: str
    grammar: str  #: in EBNF
    explore: int
    rule: str | None = None  #: its automaton, instead of the rows

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.svg"

    def drawing(self) -> str:
        compiled = engine.Compiler(small_vocabulary()).compile_grammar(self.grammar)
        return engine.inspect(compiled, explore=self.explore).dot(rule=self.rule)

    def mark(self) -> str:
        """The comment in the picture's file."""
        return f"<!-- drawing {blake2b(self.drawing().encode(), digest_size=16).hexdigest()} -->"


COUNTING = r"""
root ::= "[" word ("," word){1,99} "]"
word ::= "'" [a-z]* "'"
"""
NESTING = r"""
root ::= list
list ::= "[" (item ("," item)*)? "]"
item ::= "0" | list
"""
NUMBER = r"""
root ::= number
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)?
"""
PICTURES = (
    Picture("counting", COUNTING, explore=60),
    Picture("nesting", NESTING, explore=9),
    Picture("number", NUMBER, explore=20, rule="number"),
)


def draw() -> None:
    for picture in PICTURES:
        drawing = picture.drawing().encode()
        made = subprocess.run(["dot", "-Tsvg"], input=drawing, stdout=subprocess.PIPE, check=True)
        picture.path.write_text(f"{made.stdout.decode().rstrip()}\n{picture.mark()}\n")


if __name__ == "__main__":
    draw()
