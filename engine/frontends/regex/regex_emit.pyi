from ...grammar.ir import Grammar, Node
from .regex_tree import Tree

def emit(grammar: Grammar, tree: Tree, inside_json: bool) -> Node:
    """A tree without anchors."""
