"""Tables of verdicts (score.py), as Markdown."""

import collections
import math

SETS = (
    ("one", "one fault, of 2 % of a step or more"),
    ("small", "one fault, smaller than that"),
    ("two", "two faults, each of 2 % or more"),
    ("two, one small", "two faults, one or both smaller"),
    ("clean", "no fault"),
    ("missing", "one fault, files of ranks missing"),
    ("hybrid one", "ranks that meet inside jobs, one fault, of 2 % or more"),
    ("hybrid small", "the same, smaller"),
    ("hybrid two", "the same, two faults"),
    ("hybrid clean", "the same, no fault"),
    ("real one", "real runs, one fault, of 2 % or more"),
    ("real small", "the same, smaller"),
    ("real clean", "the same, no fault"),
)
SIZES = ((0.01, "less than 1 %"), (0.02, "1 to 2 %"), (0.05, "2 to 5 %"), (0.10, "5 to 10 %"))
LARGEST = "more than 10 %"
WORLDS = ((4, "2 to 4"), (8, "5 to 8"), (16, "9 to 16"), (32, "17 to 32"), (64, "33 to 64"))
MOST = "more than 64"
NO_ANSWER = {
    "unavailable": "not installed",
    "not_for_format": "does not read the format",
    "failed": "failed",
}
NORMAL = ((1, 0.6827), (2, 0.9545), (3, 0.9973))


# Figures ------------------------------------------------------------------------------------------


def wilson(right, count, z=1.959964):
    """The 95 % interval of a share, after Wilson (1927)."""
    if count == 0:
        return (0.0, 1.0)
    share, square = right / count, z * z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = (
        z
        / (1 + square / count)
        * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    )
    return (max(0.0, middle - half), min(1.0, middle + half))


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percent(part, whole):
    return "%.1f" % (100 * part / whole) if whole else "–"


def interval(right, count):
    return "%.1f to %.1f" % tuple(100 * end for end in wilson(right, count)) if count else "–"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def below(limits, value, otherwise):
    return next((text for limit, text in limits if value <= limit), otherwise)


# Units --------------------------------------------------------------------------------------------


def set_of(verdict):
    """A fault that turns out to be small is judged as such. Hybrid runs have any number of them."""
    faults, name = verdict["faults"], verdict["set"]
    if name in ("one", "small", "hybrid", "real") and len(faults) == 1:
        size = "small" if faults[0]["small"] else "one"
        return "%s %s" % (name, size) if name in ("hybrid", "real") else size
    if name in ("hybrid", "real"):
        return name + (" two" if faults else " clean")
    is_small = name == "two" and any(fault["small"] for fault in faults)
    return "two, one small" if is_small else name


def answered(verdict):
    """A tool that fails on a run is wrong about it; one that is not there, or cannot read its
    format, is not asked."""
    return verdict.get("no_answer") in (None, "failed")


def of_set(verdicts, *names):
    return [each for each in verdicts if set_of(each) in names and answered(each)]


def verdicts_in(lines):
    """Those of lines {"tool", "truth", "answer", "verdict"}, or verdicts themselves. Lines with an
    error have none."""
    return [
        each["verdict"] | {"tool": each.get("tool", "")} if "verdict" in each else each
        for each in lines
        if "error" not in each
    ]


def is_aim(verdict, kind):
    return verdict["aims"] is None or kind in verdict["aims"]


def place_before(verdict, limit):
    faults = verdict["faults"]
    return bool(faults) and all(f["place"] is not None and f["place"] < limit for f in faults)


HEAD = ("runs", "right", "%", "95 % interval")
MORE = ("first, %", "among 3, %", "culprit, %", "abstained, %")


def score_cells(verdicts):
    count = len(verdicts)
    right = sum(each["right"] for each in verdicts)
    return (count, right, percent(right, count), interval(right, count))


def more_cells(verdicts):
    faults = [fault for each in verdicts for fault in each["faults"]]
    culprits = [fault["culprit"] for fault in faults if fault["culprit"] is not None]
    count = len(verdicts)
    return (
        percent(sum(fault["place"] == 0 for fault in faults), len(faults)),
        percent(sum(place_before(each, 3) for each in verdicts), count) if faults else "–",
        percent(sum(culprits), len(culprits)),
        percent(sum(each["abstained"] for each in verdicts), count),
    )


# Tables -------------------------------------------------------------------------------------------


def overview(verdicts):
    rows = []
    for name, text in SETS:
        chosen = of_set(verdicts, name)
        if chosen:
            rows.append((text, *score_cells(chosen), *more_cells(chosen)))
    return table(("runs with", *HEAD, *MORE), rows)


def comparison(by_tool):
    """A line for each tool: how many it got right, with the interval, in each set."""
    rows = []
    everything = [each for verdicts in by_tool.values() for each in verdicts]
    sets = [each for each in SETS if of_set(everything, each[0])]
    for tool, verdicts in by_tool.items():
        cells = []
        for name, _ in sets:
            chosen = of_set(verdicts, name)
            right = sum(each["right"] for each in chosen)
            cells.append(
                "%s (%s; %d)"
                % (percent(right, len(chosen)), interval(right, len(chosen)), len(chosen))
                if chosen
                else "–"
            )
        aim = " (not its aim)" if any(each["not_its_aim"] for each in verdicts) else ""
        rows.append((tool + aim, *cells))
    return table(("tool", *(name for name, _ in sets)), rows)


def grouped(verdicts, head, key, order=None):
    groups = collections.defaultdict(list)
    for each in verdicts:
        groups[key(each)].append(each)
    names = [name for name in order if name in groups] if order else sorted(groups)
    rows = [(name, *score_cells(groups[name]), *more_cells(groups[name])) for name in names]
    return table((head, *HEAD, *MORE), rows)


def kind_of(verdict):
    kind = verdict["faults"][0]["kind"]
    return kind if is_aim(verdict, kind) else kind + " *"


def size_of(verdict):
    return below(SIZES, verdict["faults"][0]["share"], LARGEST)


def world_of(verdict):
    return below(WORLDS, verdict["world"], MOST)


def confusion(verdicts):
    """Rows: the kind of the fault. Columns: the kind of the first finding."""
    counts = collections.defaultdict(collections.Counter)
    for each in verdicts:
        true = each["faults"][0]["kind"] if each["faults"] else "no fault"
        counts[true][each["said"]] += 1
    said = sorted({kind for row in counts.values() for kind in row})
    rows = [
        (true, *(counts[true][kind] or "" for kind in said), sum(counts[true].values()))
        for true in sorted(counts)
    ]
    return table(("fault \\ said", *said, "all"), rows)


def figures_of(verdicts, name):
    return [
        (fault["kind"], fault[name])
        for each in verdicts
        if answered(each)
        for fault in each["faults"]
        if fault.get(name)
    ]


def figure_rows(verdicts, name):
    by_kind = collections.defaultdict(list)
    for kind, figure in figures_of(verdicts, name):
        by_kind[kind].append(figure)
    everything = [figure for figures in by_kind.values() for figure in figures]
    rows = []
    for kind, figures in [*sorted(by_kind.items()), ("all", everything)]:
        off = sorted(abs(figure["off"]) for figure in figures)
        within = sum(figure["within"] for figure in figures)
        if off:
            ninth = off[min(len(off) - 1, int(0.9 * len(off)))]
            rows.append(
                (
                    kind,
                    len(off),
                    within,
                    percent(within, len(off)),
                    interval(within, len(off)),
                    "%.2f" % (100 * median(off)),
                    "%.2f" % (100 * ninth),
                )
            )
    return rows


def figures(verdicts):
    text = ""
    for name, title in (
        ("factor", "Factors, right within 1 %"),
        ("cost", "Costs, right within 5 %"),
        ("prediction", "Predicted steps, as a share of the step, right within 2 %"),
    ):
        rows = figure_rows(verdicts, name)
        text += "\n%s:\n\n" % title
        head = (
            "kind",
            "said",
            "within",
            "%",
            "95 % interval",
            "off, median %",
            "off, 90 % of them",
        )
        text += table(head, rows) if rows else "none is said\n"
    return text


def calibration(verdicts):
    """How often error bars hold the truth, beside how often they should."""
    rows = []
    errors = [figure["errors"] for _, figure in figures_of(verdicts, "factor")]
    errors = [each for each in errors if each is not None]
    for limit, level in NORMAL:
        if errors:
            held = sum(each <= limit for each in errors)
            what = "factor, %d standard error%s" % (limit, "s" if limit > 1 else "")
            rows.append(calibration_row(what, level, held, len(errors)))
    by_level = collections.defaultdict(list)
    for _, figure in figures_of(verdicts, "prediction"):
        if "held" in figure:
            by_level[figure.get("level")].append(figure["held"])
    for level, held in sorted(by_level.items(), key=lambda each: each[0] or 0):
        rows.append(calibration_row("predicted step, its error bar", level, sum(held), len(held)))
    if not rows:
        return "no error is said\n"
    return table(("what", "should hold, %", "bars", "hold, %", "95 % interval"), rows)


def calibration_row(what, level, held, count):
    nominal = "not said" if level is None else "%.1f" % (100 * level)
    return (what, nominal, count, percent(held, count), interval(held, count))


def false_culprits(clean):
    kinds = collections.Counter(kind for each in clean for kind in each["false_culprits"])
    if not clean:
        return "no such runs\n"
    total = sum(kinds.values())
    text = "%d findings with a culprit in %d runs without a fault.\n" % (total, len(clean))
    if kinds:
        text += "\n" + table(("kind", "findings"), kinds.most_common())
    return text


def jitter(verdicts):
    said = [each["jitter"] for each in verdicts if each.get("jitter") and answered(each)]
    if not said:
        return ""
    within = sum(each["within"] for each in said)
    off = 100 * median([abs(each["off"]) for each in said])
    return (
        "\nWhat variation by chance costs is said of %d runs, within 20 %% in %d (%s %%; 95 %% "
        "interval %s); off by %.1f %% in the median.\n"
    ) % (len(said), within, percent(within, len(said)), interval(within, len(said)), off)


def without_answer(verdicts):
    reasons = collections.Counter(each["no_answer"] for each in verdicts if "no_answer" in each)
    if not reasons:
        return ""
    parts = ["%s: %d" % (NO_ANSWER[reason], count) for reason, count in reasons.most_common()]
    return "\nRuns without an answer – %s. Runs on which it failed count as wrong.\n" % ", ".join(
        parts
    )


def times(verdicts):
    seconds = [each["seconds"] for each in verdicts if each.get("seconds") is not None]
    if not seconds:
        return ""
    return "\nIt took %.2f s a run in the median, %.2f s at most.\n" % (
        median(seconds),
        max(seconds),
    )


def of_one_fault(ones, small):
    text = "\nOne fault, of 2 % of a step or more"
    text += "; * is a kind that the tool does not look for" if any(v["aims"] for v in ones) else ""
    text += ":\n\n" + grouped(ones, "kind", kind_of)
    sizes = [size for _, size in SIZES] + [LARGEST]
    worlds = [world for _, world in WORLDS] + [MOST]
    text += "\nOne fault, of any size:\n\n" + grouped(
        ones + small, "costs, of a step", size_of, sizes
    )
    text += "\n" + grouped(ones, "format", lambda each: each["format"])
    text += "\n" + grouped(ones, "schedule", lambda each: each["schedule"])
    text += "\n" + grouped(ones, "ranks", world_of, worlds)
    return text


def of_tool(tool, verdicts):
    ones = of_set(verdicts, "one", "hybrid one", "real one")
    small = of_set(verdicts, "small", "hybrid small", "real small")
    clean = of_set(verdicts, "clean", "hybrid clean", "real clean")
    text = "## %s\n\n" % (tool or "Results")
    text += overview(verdicts) + without_answer(verdicts) + times(verdicts)
    if ones or small:
        text += of_one_fault(ones, small)
    text += "\n### Figures\n" + figures(verdicts)
    text += "\n### Error bars\n\n" + calibration(verdicts)
    text += "\n### What it says of what\n\n" + confusion(ones + clean)
    text += "\n### Runs without a fault\n\n" + false_culprits(clean) + jitter(verdicts)
    return text


def tables(lines):
    """All tables of verdicts, of several tools one after the other."""
    by_tool = collections.defaultdict(list)
    for each in verdicts_in(lines):
        by_tool[each["tool"]].append(each)
    text = ""
    if len(by_tool) > 1:
        text += "Right, in % (95 % interval; runs):\n\n" + comparison(by_tool) + "\n"
    return text + "\n".join(of_tool(tool, chosen) for tool, chosen in by_tool.items())
