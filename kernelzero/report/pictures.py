"""The report's pictures, each a function from a query's frame to the text of an SVG. matplotlib is imported when one is drawn."""

import io

SHARES = {"pass_at_1": "pass@1", "fast_1_at_1": "fast_1@1", "coder_pass_rate": "Coder's training samples",
          "frontier_occupancy": "frontier occupancy", "valid_share": "valid modules"}
KINDS = ("sampling", "verifying", "training", "orchestration")


def rounds(curriculum) -> str:
    """What the rounds changed: shares between 0 and 1 over rounds."""
    figure, axes = _figure("Round by round", "round", "share")
    rows = curriculum.to_dicts()
    for name, label in SHARES.items():
        points = [(row["round"], row[name]) for row in rows if row[name] is not None]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks([row["round"] for row in rows])
    return _svg(figure, axes)


def steps(learning_curve) -> str:
    """Mean reward over all training steps of a role, one after the other; a thin line where a round begins."""
    figure, axes = _figure("Mean reward, step by step", "training step of the role", "reward")
    for role in ("proposer", "coder"):
        rows = [row for row in learning_curve.to_dicts() if row["stage"] == role and row["mean_reward"] is not None]
        if rows:
            axes.plot(range(1, len(rows) + 1), [row["mean_reward"] for row in rows], marker=".", label=role.capitalize())
        for index in range(1, len(rows)):
            if rows[index]["round"] != rows[index - 1]["round"]:
                axes.axvline(index + 0.5, color="0.8", linewidth=0.8, zorder=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return _svg(figure, axes)


def frontier(histogram, bins: int) -> str:
    """How the proposed modules spread over success rates: a group of bars a bin, a bar a round."""
    figure, axes = _figure("Success rate of the proposed modules", "k / n of the frozen Coder's kernels", "modules")
    found = sorted(set(histogram["round"].to_list()))
    width = 0.8 / bins / max(1, len(found))
    for index, round_ in enumerate(found):
        part = histogram.filter(histogram["round"] == round_)
        left = [bin_ + 0.1 / bins + index * width for bin_ in part["bin"].to_list()]
        axes.bar(left, part["modules"].to_list(), width=width, align="edge", label=f"round {round_}")
    axes.set_xlim(0, 1)
    axes.set_xticks([edge / bins for edge in range(bins + 1)])
    return _svg(figure, axes)


def time(time_split) -> str:
    """Seconds of every stage by kind of work, stacked. The warm start, far longer and mostly cached, is only in the table."""
    figure, axes = _figure("Seconds by stage, after the warm start", "", "seconds")
    rows = [row for row in time_split.to_dicts() if row["round"] is not None and row["stage"] != "warm_start"]
    names = [f"{row['round']} {row['stage']}" for row in rows]
    below = [0.0] * len(rows)
    for kind in KINDS:
        parts = [row["seconds"] * (row[kind] or 0.0) for row in rows]
        axes.bar(names, parts, bottom=below, label=kind)
        below = [base + part for base, part in zip(below, parts, strict=True)]
    axes.tick_params(axis="x", rotation=60, labelsize="small")
    return _svg(figure, axes)


def _figure(title: str, x: str, y: str):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure, axes) -> str:
    """The figure as SVG text without the XML prologue and without the date, so that the same data give the same page."""
    import matplotlib

    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    else:
        axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=axes.transAxes, color="0.5")
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": axes.get_title()}):
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]
