"""The command line: the commands and their arguments.

    serve                    run the gateway, of one model or several (--config)
    version                  print the version
    warm FILE...             compile grammars ahead and fill the cache
    cache stats              a table of gateways' caches, or of the entries in Redis
    cache export, import     all entries in Redis, as a file
    keys create, list, revoke      API keys in a file or in Redis
    check FILE               which parts of a JSON Schema are enforced
    doctor                   examine a setup
    bench URL                a short load on a running gateway; --quality: cases with known answers

Exit status   0 done; 1 done in part, or a server did not answer; 2 a mistake on the command line or
              in the settings, nothing was done.

A command imports what it needs when it runs, so that mistakes are reported at once.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ..access import PRIORITIES
from ..settings import SettingError, read_settings
from ..version import version

#: seconds that ``warm`` waits at its end for unwritten entries
WAIT_SECONDS = 30.0
#: exit status after SIGINT, as in shells
INTERRUPTED = 130
#: exit status when the reader of stdout has gone, as after SIGPIPE
UNREAD = 141


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command of these arguments; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        _print_no_more()
        return UNREAD
    return status


def _run(options: argparse.Namespace) -> int:
    try:
        status: int = options.run(options)
    except SettingError as error:
        for sentence in error.sentences:
            print(f"switchyard: {sentence}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _print_no_more() -> None:
    """Redirect output to nowhere: flushing it at exit would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="switchyard",
        description="OpenAI-compatible gateway whose output fits what was asked for.",
        epilog="Settings come from SWITCHYARD_* variables and a file, see docs/running.md.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="run the gateway")
    _add_config(serve)
    serve.set_defaults(run=_serve)
    commands.add_parser("version", help="print the version").set_defaults(run=_version)
    _add_warm(commands.add_parser("warm", help="compile grammars ahead and fill the cache"))
    _add_cache(commands.add_parser("cache", help="look at the cache, export it, import it"))
    _add_keys(commands.add_parser("keys", help="create, list and revoke API keys of clients"))
    _add_check(commands.add_parser("check", help="report which parts of a schema are enforced"))
    _add_doctor(commands.add_parser("doctor", help="examine settings, Redis, models and workers"))
    _add_bench(commands.add_parser("bench", help="load a running gateway for a few seconds"))
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file that describes the models (default: SWITCHYARD_CONFIG_FILE)",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", metavar="NAME", help="name or alias of a model, if there are several"
    )


def _add_warm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="JSON or JSON lines: chat completions, arrays of tools, JSON schemas",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT_SECONDS,
        metavar="SECONDS",
        help="for the cache to have written all, at the end (default: %(default)g)",
    )
    _add_config(parser)
    _add_model(parser)
    parser.set_defaults(run=_warm)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True)
    stats = commands.add_parser("stats", help="a table: of gateways, or of Redis")
    stats.add_argument(
        "--url",
        nargs="+",
        metavar="URL",
        help="gateways to ask, with the first of SWITCHYARD_ADMIN_KEYS; none: Redis itself",
    )
    _add_model(stats)
    stats.set_defaults(run=_stats)
    export = commands.add_parser("export", help="write all entries to a file")
    export.add_argument("file", type=Path, metavar="FILE")
    export.set_defaults(run=_export)
    take = commands.add_parser("import", help="put all entries of a file")
    take.add_argument("file", type=Path, metavar="FILE")
    take.add_argument(
        "--key-file",
        type=Path,
        metavar="PATH",
        help="holds the cache key that FILE was exported with, where it is not ours",
    )
    take.set_defaults(run=_import)


def _add_keys(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True)
    create = commands.add_parser("create", help="print a new key, and store its hash")
    create.add_argument("name", metavar="NAME")
    create.add_argument("--expires", metavar="TIME", help="ISO time, UTC unless it has a zone")
    create.add_argument("--model", action="append", metavar="ID", help="default: all models")
    for limit in ("max-running", "requests-per-minute", "tokens-per-minute"):
        create.add_argument(f"--{limit}", type=int, metavar="N", help="default: no limit")
    create.add_argument("--priority", choices=PRIORITIES, default="normal")
    revoke = commands.add_parser("revoke", help="delete a key")
    revoke.add_argument("name", metavar="NAME")
    show = commands.add_parser("list", help="a table of the keys")
    for command in (create, revoke, show):
        place = command.add_mutually_exclusive_group()
        place.add_argument("--file", type=Path, metavar="PATH", help="default: KEYS_FILE")
        place.add_argument("--redis", action="store_true", help="default: if KEYS_REDIS is true")
        command.set_defaults(run=_keys)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a JSON Schema; - reads standard input")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_check)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_config(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_doctor)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="of the gateway, with or without /v1")
    parser.add_argument("--model", metavar="NAME", help="default: the first of GET /v1/models")
    parser.add_argument("--key", metavar="KEY", help="default: the variable OPENAI_API_KEY")
    parser.add_argument(
        "--users", type=int, default=8, metavar="N", help="requests at once (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="duration (default: %(default)g)"
    )
    parser.add_argument(
        "--kind",
        choices=("mixed", "plain", "schema", "tools"),
        default="mixed",
        help="of the requests (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_bench)
    _add_quality(parser.add_argument_group("quality of answers"))


def _add_quality(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--quality",
        action="store_true",
        help="ask cases with known answers, and judge them, instead of a load; of log probabilities"
        " only those after the grammar's mask are known",
    )
    group.add_argument(
        "--bfcl",
        type=Path,
        metavar="FOLDER",
        help="data of bfcl-eval, for tool calls; default: extractions only",
    )
    group.add_argument(
        "--cases", type=int, default=20, metavar="N", help="of each set (default: %(default)s)"
    )
    group.add_argument(
        "--share",
        choices=("tuning", "reported", "all"),
        default="all",
        help="cases with an even index, an odd one, or all (default: %(default)s)",
    )
    group.add_argument(
        "--asking",
        choices=("required", "auto", "named"),
        default="required",
        help="tool_choice; named: the right tool (default: %(default)s)",
    )
    group.add_argument(
        "--max-tokens", type=int, default=256, metavar="N", help="default: %(default)s"
    )
    group.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="default: %(default)g"
    )


def _version(options: argparse.Namespace) -> int:
    print(version())
    return 0


def _serve(options: argparse.Namespace) -> int:
    from .serve import serve

    return serve(read_settings(config_file=options.config))


def _warm(options: argparse.Namespace) -> int:
    from .warm import warm

    settings = read_settings(config_file=options.config)
    return warm(settings, options.files, wait_s=options.wait, model=options.model)


def _stats(options: argparse.Namespace) -> int:
    if options.model is not None and not options.url:
        raise SettingError("--model needs --url: the table of Redis shows all vocabularies")
    settings = read_settings().gateway
    if options.url:
        from .gateways import show_gateways

        return show_gateways(settings, options.url, options.model)
    from .redis_entries import show_shared

    return show_shared(settings)


def _export(options: argparse.Namespace) -> int:
    from .redis_entries import export_shared

    signal.signal(signal.SIGTERM, _leave)  # the default action would leave an unfinished file
    return export_shared(read_settings().gateway, options.file)


def _import(options: argparse.Namespace) -> int:
    from .redis_entries import import_shared

    return import_shared(read_settings().gateway, options.file, options.key_file)


def _keys(options: argparse.Namespace) -> int:
    from .access_keys import run_keys

    return run_keys(read_settings().gateway, options)


def _check(options: argparse.Namespace) -> int:
    from engine.check import main

    return main([options.file, *(["--json"] if options.json else [])])


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import run_doctor

    return run_doctor(options.config, as_json=options.json)


def _bench(options: argparse.Namespace) -> int:
    key = options.key or os.environ.get("OPENAI_API_KEY")
    if options.quality:
        return _quality(options, key)
    from .load import Load, run_load

    load = Load(options.url, options.model, key, options.users, options.seconds, options.kind)
    return run_load(load, as_json=options.json)


def _quality(options: argparse.Namespace, key: str | None) -> int:
    from .quality.asking import Quality, run_quality

    quality = Quality(
        url=options.url,
        model=options.model,
        key=key,
        users=options.users,
        bfcl=options.bfcl,
        cases=options.cases,
        share=options.share,
        asking=options.asking,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
    )
    return run_quality(quality, as_json=options.json)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
