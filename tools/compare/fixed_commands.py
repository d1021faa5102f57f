"""Commands that need no logs of their own: help, words for shells, and errors."""

from .case import Case

HELP = [["--help"], ["--version"], ["info", "--help"], ["show", "--help"], ["plan", "--help"],
        ["open", "--help"], ["plan", "--list"], ["completions", "bash"], ["completions", "zsh"],
        ["completions", "fish"], ["completions", "tcsh"], ["completions", "--help"], ["man"],
        ["man", "--help"]]

ERRORS = [
    [], ["missing"], ["info"], ["info", "missing"], ["show", "missing"], ["--nonsense"],
    ["LOGS", "--nonsense"], ["LOGS", "-o", "p.xyz"], ["LOGS", "-o", "p"], ["LOGS", "-o", "-"],
    ["LOGS", "-o", "missing/p.json"], ["LOGS", "-o", "p.json", "-o", "p.json"],
    ["LOGS", "-o", "p.json", "--format", "csv"], ["LOGS", "-o", "p.json", "-o", "missing/p.csv"],
    ["LOGS", "--steps", "a"], ["LOGS", "--steps", "3:1"], ["LOGS", "--steps", "99"],
    ["LOGS", "--ranks", "x"], ["LOGS", "--ranks", "99"], ["LOGS", "--skip", "nothing_such"],
    ["LOGS", "--run", "9"], ["LOGS", "--run", "-1"], ["LOGS", "--pp", "0"], ["LOGS", "--pp", "7"],
    ["LOGS", "--align", "maybe"], ["LOGS", "--threads", "x"], ["LOGS", "--time-unit", "h"],
    ["LOGS", "--pattern", "("], ["LOGS", "--pattern", "x"], ["LOGS", "--kinds", "missing"],
    ["LOGS", "--follow"], ["LOGS", "--follow", "-o", "p.csv"], ["LOGS", "LOGS", "-o", "p.json"],
    ["LOGS", "--follow", "-o", "p.json", "--run", "0"], ["LOGS", "--json", "-o", "-", "--format", "csv"],
    ["--devices", "0"], ["--log_dir", "LOGS"], ["--devices", "0", "--log_dir", "missing"],
    ["--devices", "x", "--log_dir", "LOGS"], ["--devices", "0,99", "--log_dir", "LOGS", "-o", "p.json"],
    ["show", "LOGS", "--step", "99"], ["show", "LOGS", "--width", "1"], ["show", "LOGS", "-o", "p.json"],
    ["info", "LOGS", "-o", "p.json"], ["open"], ["open", "missing"], ["-"],
    ["plan"], ["plan", "--schedule", "1F1B"], ["plan", "--schedule", "1f1"],
    ["plan", "--schedule", "1F1B", "--stages", "4"], ["plan", "--ranks", "4"],
    ["plan", "--schedule", "1F1B", "--stages", "0", "--micro-batches", "1"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "x"],
    ["plan", "--schedule", "DualPipe", "--stages", "3", "--micro-batches", "4"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--forward-ms", "-1"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--forward-ms", "1,2,3"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "-o", "p.pftrace"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "-o", "missing/p.svg"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--costs-from", "missing"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--costs", "missing"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--limit", "1"],
    ["plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--job-list", "--json"],
    ["plan", "--schedule", "auto", "--stages", "2", "--micro-batches", "2", "--limit", "0.1",
     "--activation-gb", "1"],
    ["plan", "--schedule-file", "missing"], ["plan", "--schedule-file", "LOGS"],
]

REHEARSE = [["--help"], ["--version"], [], ["rehearse", "--help"], ["rehearse"], ["--nonsense"],
            ["rehearse", "--schedule", "1F1B"], ["rehearse", "--schedule", "nothing", "--ranks", "2",
                                                 "--micro-batches", "2", "--log-dir", "logs"],
            ["rehearse", "--schedule", "1F1B", "--ranks", "0", "--log-dir", "logs"],
            ["rehearse", "--schedule", "1F1B", "--stages", "2", "--log-dir", "logs"],
            ["rehearse", "--schedule-file", "missing", "--log-dir", "logs"],
            ["--ranks", "x", "--", "true"], ["--", "./missing"]]

VIEW = [["--help"], ["--version"], ["--export", "p.png"], ["missing", "--export", "p.png"],
        ["LOGS", "--export", "p.gif"], ["LOGS", "--export", "missing/p.png"],
        ["LOGS", "--export", "p.png", "--size", "0x0"], ["LOGS", "--export", "p.png", "--size", "x"],
        ["LOGS", "--export", "p.png", "--step", "99"], ["LOGS", "--export", "p.svg", "--step", "1"],
        ["LOGS", "--export", "p.svg", "--steps", "0:1"], ["LOGS", "--export", "p.svg", "--steps", "x"],
        ["LOGS", "--export", "p.svg", "--all"], ["LOGS", "--size", "10x10"], ["--nonsense"]]


PLAN = ["plan", "--schedule", "1F1B", "--stages", "1", "--micro-batches", "2"]


def over_older_files(inputs):
    """Outputs where files of these names lie already, and where one of two cannot be written."""
    old = {"logs": inputs / "plain", "p.json": inputs / "plain.json", "foreign.json": inputs / "kinds.json"}
    commands = [[*PLAN, "-o", "logs/"], [*PLAN, "-o", "logs/", "-o", "missing/p.svg"],
                [*PLAN, "-o", "p.json", "-o", "p.json/p.svg"], [*PLAN, "-o", "foreign.json"],
                ["logs", "-o", "p.json"], ["logs", "-o", "foreign.json"],
                ["logs", "-o", "p.json", "-o", "missing/p.csv"], ["p.json", "-o", "p.json"],
                ["logs", "-o", "logs/workerlog.0"], ["logs", "p.json", "-o", "both.json"],
                ["logs", "-o", "logs"], [*PLAN, "-o", "p.json/"]]
    return [Case("older files", " ".join(command), "pipe-trace", command, copies=old)
            for command in commands]


def fixed_cases(logs, inputs):
    """`logs` is a folder of whole logs as programs see it: it stands where the lists say LOGS.

    `inputs` is where plain/, plain.json and kinds.json lie for this script.
    """
    def cases(group, program, commands):
        return [Case(group, " ".join([program, *args]), program,
                     [logs if arg == "LOGS" else arg for arg in args]) for args in commands]
    return (cases("help", "pipe-trace", HELP) + cases("errors", "pipe-trace", ERRORS) +
            over_older_files(inputs) + cases("pipe-run", "pipe-run", REHEARSE) +
            cases("pipe-view", "pipe-view", VIEW))
