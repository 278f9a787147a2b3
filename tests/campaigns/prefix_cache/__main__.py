"""Turns of Claude Code, Codex and chat clients: what of each prompt continues the one before.

    python -m tests.campaigns.prefix_cache [--models hermes Qwen3-Coder] [--records FOLDER]

Prints the bytes that the next prompt lacks: of the prompt before it, in which these clients change
nothing, and of the answer, which the chat template may write in another way than the model did.
Exits with 1 for a loss that the gateway causes: see campaign.complaints.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.app.conversation.chat_templates import TEMPLATES
from tests.campaigns.prefix_cache.campaign import FORMATS, complaints, run
from tests.campaigns.prefix_cache.clients import CLIENTS, Body

RECORDED = {"Claude Code": "claude-code-*-loop.json", "Codex": "codex-*-mcp-loop.json"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.prefix_cache", description=__doc__
    )
    parser.add_argument("--models", nargs="*", default=[*FORMATS, *TEMPLATES])
    parser.add_argument("--records", type=Path, help="a folder of recorded requests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="where prompts part")
    options = parser.parse_args(arguments)
    records = read_records(options.records) if options.records else {}
    losses = run(options.models, list(CLIENTS), records, options.seed)
    print(
        "| model | client | then | turns | of prompts | of answers | beside white space | length |"
    )
    print("|---|---|---|---:|---:|---:|---:|---:|")
    for (model, client, kind), loss in losses.items():
        if loss.prompt or loss.answer:
            length = sum(map(len, loss.wrote))
            counts = (loss.turns, loss.prompt, loss.answer, loss.beside_space, length)
            print(f"| {model} | {client} | {kind} | {' | '.join(map(str, counts))} |")
            for text in loss.texts if options.show else ():
                print(f"    {text}")
    turns = sum(loss.turns for loss in losses.values())
    print(f"\n{turns} turns; those without a loss are not listed")
    found = list(complaints(losses))
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


def read_records(folder: Path) -> dict[str, Body]:
    """Return the body of each client's last recorded request."""
    found: dict[str, Body] = {}
    for client, pattern in RECORDED.items():
        for file in sorted(folder.glob(pattern)):
            found[client] = json.loads(file.read_text("utf-8"))["requests"][-1]["body"]
    return found


if __name__ == "__main__":
    sys.exit(main())
