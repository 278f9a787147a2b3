"""Plots as PNG files, with matplotlib: a colour for each engine and one legend."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import ablation, batch, growth, memory
from .measure import Result, Turns, percentile
from .report import KINDS
from .worker import OK

_COLOURS = {"ours": "tab:blue", "xgrammar": "tab:orange", "llguidance": "tab:green"}
_MARKERS = "osd^v"
_TICKS = ((1, "0"), (10, "90"), (100, "99"), (1000, "99.9"), (10_000, "99.99"))
#: shares of the values above a percentile, on a logarithmic scale
_TAILS = tuple(10 ** (-k / 10) for k in range(41))


def _styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return styles by name, an engine or "engine, detail": colours for engines, marks for
    details."""
    kinds = list(dict.fromkeys(name.partition(", ")[2] for name in names))
    return {
        name: {
            "label": name,
            "color": _COLOURS.get(name.partition(", ")[0]),
            "marker": _MARKERS[kinds.index(name.partition(", ")[2]) % len(_MARKERS)],
            "markersize": 4,
        }
        for name in names
    }


def _figure(columns: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = (max(6, 4.2 * columns), 4.2)
    figure, axes = pyplot.subplots(1, columns, figsize=size, squeeze=False, layout="constrained")
    for panel in axes[0]:
        panel.grid(alpha=0.3)
    return figure, axes[0]


def _logarithmic(panel: Any) -> None:
    """Make the axes logarithmic, except of an empty panel."""
    if any(len(line.get_xdata()) for line in panel.lines if line.get_linestyle() != "None"):
        panel.set(xscale="log", yscale="log")


def _save(file: Path, figure: Any, panel: Any) -> None:
    from matplotlib import pyplot

    handles, labels = panel.get_legend_handles_labels()
    if labels:
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(len(labels), 2 * len(figure.axes)),
        )
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def percentiles(file: Path, results: Mapping[str, Result]) -> None:
    """One panel for each kind of time: percentiles from 0 to 99.99."""
    kinds = [kind for kind in KINDS if any(result.times.get(kind) for result in results.values())]
    figure, axes = _figure(max(1, len(kinds)))
    styles = _styles(list(results))
    for kind, panel in zip(kinds, axes, strict=False):
        for name, result in results.items():
            values = result.times.get(kind, [])
            tails = [tail for tail in _TAILS if tail * len(values) >= 1]
            heights = [percentile(values, 100 * (1 - tail)) for tail in tails]
            panel.plot([1 / tail for tail in tails], heights, **{**styles[name], "marker": ""})
        _logarithmic(panel)
        panel.set(title=kind, xlabel="percentile", ylabel="us")
        most = max((len(result.times.get(kind, [])) for result in results.values()), default=1)
        ticks = [(one, label) for one, label in _TICKS if one <= max(most, 10)]
        panel.set_xticks(*zip(*ticks, strict=True))
    _save(file, figure, axes[0])


def growing(file: Path, axis: str, found: Mapping[str, Sequence[growth.Point]]) -> None:
    """Plot compile, first mask and masks along an axis; a cross marks a refusal or a timeout."""
    figure, axes = _figure(3)
    styles = _styles(list(found))
    panels = {"compile": axes[0], "first": axes[1], "mask p50": axes[2], "mask p99": axes[2]}
    for name, points in found.items():
        for kind, panel in panels.items():
            done = [p for p in points if kind in p.figures]
            heights = [p.figures[kind] for p in done]
            dashes = "--" if kind == "mask p99" else "-"
            panel.plot([p.at for p in done], heights, dashes, **styles[name])
        missed = [p.at for p in points if p.status not in (OK, "not tried")]
        for panel in axes if missed else ():
            style = {"transform": panel.get_xaxis_transform(), "clip_on": False}
            panel.plot(missed, [1] * len(missed), "x", color=styles[name]["color"], **style)
    titles = ("compile", "first mask", "masks, p50 and p99 (dashed)")
    for panel, title in zip(axes, titles, strict=True):
        unit = growth.UNITS.get(axis, "")
        label = axis if unit in ("", axis) else f"{axis}, {unit}"
        _logarithmic(panel)
        panel.set(title=title, xlabel=label, ylabel="us")
    _save(file, figure, axes[0])


def batches(file: Path, found: Mapping[str, Sequence[batch.Point]]) -> None:
    """Plot the time per mask by the size of the batch: first round, and again (dashed)."""
    figure, axes = _figure(len(batch.KINDS))
    styles = _styles(list(found))
    for kind, panel in zip(batch.KINDS, axes, strict=True):
        for name, points in found.items():
            own = [p for p in points if p.kind == kind]
            sizes = [p.size for p in own]
            panel.plot(sizes, [p.p50 / p.size for p in own], "-", **styles[name])
            again = {**styles[name], "label": None}
            panel.plot(sizes, [p.again_p50 / p.size for p in own], "--", **again)
        _logarithmic(panel)
        panel.set(title=f"{kind}, and again (dashed)", xlabel="rows", ylabel="us a mask, p50")
    _save(file, figure, axes[0])


def resident(file: Path, found: Mapping[str, Sequence[memory.Point]]) -> None:
    """Plot memory by the number of grammars, relative to the first point."""
    figure, (panel,) = _figure(1)
    styles = _styles(list(found))
    for name, points in found.items():
        heights = [(p.bytes - points[0].bytes) / 2**20 for p in points]
        panel.plot([p.grammars for p in points], heights, "-", **styles[name])
    panel.set(xlabel="grammars", ylabel="MB more than at the start")
    _save(file, figure, panel)


def features(file: Path, turns: Turns) -> None:
    """Plot the ablation: preprocessing and masks by row, from the top."""
    figure, axes = _figure(2)
    found = {name: ablation.figures(result) for name, result in turns.shared.items()}
    for column, panel in zip(("preprocessing (ms)", "mask (us)"), axes, strict=True):
        heights = [figures.get(column, 0.0) for figures in found.values()]
        bars = panel.barh(list(found), heights)
        panel.bar_label(bars, fmt="{:,.2f}", padding=2)
        panel.margins(x=0.2)
        panel.invert_yaxis()
        panel.set(title=column)
    axes[1].set_yticks([])
    _save(file, figure, axes[0])
