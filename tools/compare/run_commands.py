"""What both builds do with one input: profiles of every format, summaries, info, show, pictures,
and the answers to all questions that may be asked of a run."""

from .case import Case

PROFILES = ["-o", "p.json", "-o", "p.pftrace", "-o", "p.sqlite", "-o", "p.csv"]

# Every input gets these. PP and V stand for its ranks of a pipeline and its chunks.
ALWAYS = [
    ("profiles", PROFILES),
    ("summary", ["--json"]),
    ("info", ["info"]),
    ("info", ["info", "--json"]),
    ("show", ["show"]),
    ("report", ["report", "--json", "--all"]),
    ("advise", ["advise", "--json"]),
    ("costs", ["plan", "--schedule", "LoopedBFS", "--stages", "PP", "--chunks", "V", "--micro-batches",
               "4", "--costs-out", "costs.json", "--json", "--costs-from"]),
]

# An input gets some of these, or all.
SOMETIMES = [
    ("align", ["--align", "none", "-o", "p.json", "-o", "p.sqlite"]),
    ("align", ["info", "--align", "none"]),
    ("steps", ["--steps", "1:3", "-o", "p.json", "-o", "p.sqlite", "-o", "p.csv"]),
    ("steps", ["--steps", ":1", "--json"]),
    ("steps", ["--steps", "1:", "-o", "p.pftrace"]),
    ("steps", ["show", "--steps", "0:2", "--width", "150"]),
    ("steps", ["show", "--step", "1"]),
    ("ranks", ["--ranks", "0,2-4", "-o", "p.json", "-o", "p.sqlite"]),
    ("ranks", ["info", "--ranks", "1"]),
    ("skip", ["--skip", "forward,recv_forward,bubble", "-o", "p.json", "-o", "p.sqlite"]),
    ("switches", ["--no-bubbles", "--no-flows", "-o", "p.json", "-o", "p.pftrace", "-o", "p.csv"]),
    ("switches", ["--absolute-time", "-o", "p.json", "-o", "p.pftrace"]),
    ("switches", ["-o", "-", "--format", "csv"]),
    ("switches", ["-o", "-", "--format", "json", "-q"]),
    ("switches", ["--threads", "1", *PROFILES]),
    ("strict", ["--strict", "-q"]),
    ("strict", ["info", "--strict"]),
    ("runs", ["--run", "0", "-o", "p.json"]),
    ("runs", ["info", "--run", "1"]),
    ("topology", ["--pp", "2", "--json"]),
    ("topology", ["--dp", "2", "--vpp", "2", "-o", "p.json", "-o", "p.sqlite"]),
    ("topology", ["info", "--pp", "3"]),
    ("show", ["show", "--width", "60"]),
    ("report", ["report", "-o", "r.txt"]),
    ("what-if", ["what-if", "--json"]),
    ("what-if", ["what-if", "--make-ideal", "all", "--json"]),
    ("what-if", ["what-if", "--make-ideal", "stage=1", "--no-launch", "-o", "p.json"]),
    ("what-if", ["what-if", "--scale", "stage=0:0.5", "--link", "0-1=3ms", "--json"]),
    ("what-if", ["what-if", "--balance", "stages", "-o", "p.json"]),
    ("what-if", ["what-if", "--schedule", "1F1B", "--json"]),
    ("what-if", ["what-if", "--schedule", "ZB-H1", "--comm-streams", "rank", "--transfers", "in-time",
                 "--csv", "p.csv"]),
    ("kinds", ["--kinds", "../inputs/kinds.json", "-o", "p.json"]),
    ("costs", ["plan", "--schedule", "ZB-H1", "--stages", "PP", "--micro-batches", "6", "--costs-from"]),
]

KINDS = ('{"kinds": {"embed_fwd": "forward", "blk_fwd_(?P<chunk>\\\\d+)_(?P<micro_batch_id>\\\\d+)": '
         '"forward", "forward": "other", "gc": "kernel"}}')


def on(source, paths, options, group, **more):
    """The option that takes the input comes last where there is one (--costs-from)."""
    last = options[-1:] == ["--costs-from"]
    inputs = paths[:1] if last else paths
    return Case(group, source, "pipe-trace", [*options, *inputs], **more)


def on_input(source, paths, random, how_many=None, picture=True, pp=4, chunks=1):
    """Cases of one input: all of the commands, or `how_many` of those that are not for each."""
    some = SOMETIMES if how_many is None else random.sample(SOMETIMES, how_many)
    sizes = {"PP": str(pp), "V": str(chunks)}
    cases = [on(source, paths, [sizes.get(option, option) for option in options], group)
             for group, options in ALWAYS + some]
    if picture:
        cases.append(Case("picture", source, "pipe-view", [*paths, "--export", "p.svg"]))
    if picture and how_many is None:
        cases += [Case("picture", source, "pipe-view", [*paths, "--export", "p.png"]),
                  Case("picture", source, "pipe-view", [*paths, "--export", "a.svg", "--all"])]
    return cases


def on_profile(source, path, random):
    """A few cases of an input that a build wrote: it is read back and written again."""
    some = random.sample(SOMETIMES, 2)
    wanted = [ALWAYS[0], ALWAYS[2], *some]
    return [on(source, [path], options, group) for group, options in wanted]


def on_logs(source, folder, ranks, random, layout, whole, here):
    """What only job logs have: PaddlePaddle's command line, standard input, --follow.

    `here` is where the folder lies for this script, `folder` where it lies for the programs.
    """
    cases = []
    if layout == "one_file":
        return cases
    devices = ["--devices", f"0-{ranks - 1}" if random.random() < 0.7 else "0"]
    machines = ["--multi_machine"] if layout == "machines" else []
    style = random.choice([[], ["--paddle-style", "2023"]])
    skip = random.choice([[], ["--skip", "none"]])
    cases.append(Case("paddle", source, "pipe-trace",
                      [*devices, "--log_dir", "logs", *machines, *style, *skip], copies={"logs": here}))
    logs = sorted(here.glob("workerlog.[0-9]*"))
    if logs:
        cases.append(Case("stdin", source, "pipe-trace", ["-", "-o", "p.json"], stdin=logs))
        cases.append(Case("one log", source, "pipe-trace",
                          [f"{folder}/{logs[-1].name}", "-o", "p.json", "-o", "p.sqlite"]))
    if whole:
        cases.append(Case("follow", source, "pipe-trace", [folder, "--follow", "-o", "p.json"]))
    return cases
