#!/usr/bin/env python3
"""How right is a tool about where a pipeline's time goes? Runs with planted faults, and a score.

  diagnosis.py PIPE_TRACE [--set SET] [--seeds A-B] [--tools NAMES] [--jobs N] [-o FILE]
  diagnosis.py --tables FILE...          tables of what was judged before, as Markdown
  diagnosis.py --list                    how runs are drawn
  diagnosis.py --show SET SEED           what is true of a run, and where its files are

Each run is simulated, written as traces, given to each tool, and judged (tests/diagnosis/README.md).
SET is one (default: a run has one fault), two, clean, missing (one fault; two ranks have no files),
or hybrid (ranks meet inside jobs). Seeds are kept, not traces. FILE gets a line of JSON a run and
tool; runs that it has already are left out, so a run that was stopped goes on.

  --kind KIND      all runs have this fault
  --format NAME    all runs are written so
  --fail-below P[,COST[,STEP]]
                   exit code 1 if less than P % of the runs are right, or less than COST % of the
                   costs, or less than STEP % of the predicted steps
  --keep FOLDER    keep the traces there

Exit codes: 0 done, 1 below --fail-below, 2 could not.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "diagnosis"
sys.path.insert(0, str(HERE))
sys.path.insert(1, str(HERE.parent / "hybrid"))

import cases  # noqa: E402
import hybrid  # noqa: E402
import score  # noqa: E402
import simulate  # noqa: E402
from judge_reports import seeds_in  # noqa: E402

SETS = ("one", "two", "clean", "missing", "hybrid")


def write(run, folder, leave_out):
    name = run.case["format"]
    writer = importlib.import_module("write_" + ("torch" if name.startswith("torch") else name))
    if name.startswith("torch"):
        device = "cpu" if "cpu" in name else "gpu"
        writer.write(run, folder, leave_out, device=device, annotated="bare" not in name)
    else:
        writer.write(run, folder, leave_out)


def make(which, seed, folder, kind=None, form=None):
    """Writes the run's traces into the folder; gives what is true of it."""
    if which == "hybrid":
        return hybrid.make(seed, folder, kind)
    case = cases.draw(seed, which, kind, form)
    run = simulate.Simulation(case).run()
    write(run, folder, case["left_out"])
    return cases.truth_of(case, which, run)


def judge(task):
    which, seed, given = task
    root = tempfile.mkdtemp(prefix="diagnosis-")
    folder = os.path.join(given["keep"] or root, "%s-%d" % (which, seed))
    try:
        truth = make(which, seed, folder, given["kind"], given["format"])
        lines = []
        for tool in given["tools"]:
            adapter = importlib.import_module("adapters." + tool)
            answer = adapter.findings(folder, hints(truth), {"program": given["program"]})
            lines.append(
                {"tool": tool, "truth": truth, "answer": answer}
                | {"verdict": score.judge(truth, answer, tool)}
            )
        return lines
    except Exception as error:  # a run that cannot be judged is a line, too
        return [
            {"tool": tool, "truth": {"seed": seed, "set": which}, "error": repr(error)}
            for tool in given["tools"]
        ]
    finally:
        shutil.rmtree(root, ignore_errors=True)


def hints(truth):
    """What the people who trained would say to a tool."""
    case = truth.get("case", {})
    return {key: case[key] for key in ("positions", "replicas", "schedule") if key in case}


def shares_in(text):
    shares = [float(part) for part in text.split(",")]
    if len(shares) > 3:
        raise argparse.ArgumentTypeError("at most three shares")
    return shares


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", metavar="PIPE_TRACE", help="the program pipe-trace")
    parser.add_argument("--set", default="one", choices=SETS, help="(default: %(default)s)")
    parser.add_argument(
        "--seeds", type=seeds_in, default="1-50", help="such as 1-4,9 (default: %(default)s)"
    )
    parser.add_argument(
        "--tools", default="pipe_trace", help="adapters, with commas (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: %(default)s)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--kind", metavar="KIND")
    parser.add_argument("--format", choices=list(cases.FORMATS), metavar="NAME")
    parser.add_argument("--fail-below", type=shares_in, default=[], metavar="P[,COST[,STEP]]")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--tables", nargs="+", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", nargs=2, metavar=("SET", "SEED"))
    given = parser.parse_args()
    kinds = hybrid.KINDS if given.set == "hybrid" else (*cases.KINDS, *cases.MORE_KINDS)
    if given.kind and given.kind not in kinds:
        parser.error("--kind is one of %s" % ", ".join(kinds))
    return given


def read(files):
    lines = []
    for file in files:
        with open(file, encoding="utf-8") as text:
            lines += [json.loads(line) for line in text if line.strip()]
    return lines


def run(given):
    tools = given.tools.split(",")
    done = set()
    if given.output and given.output.exists():
        done = {(line["truth"]["set"], line["truth"]["seed"]) for line in read([given.output])}
    settings = {
        "program": given.program,
        "tools": tools,
        "kind": given.kind,
        "format": given.format,
        "keep": given.keep,
    }
    tasks = [(given.set, seed, settings) for seed in given.seeds if (given.set, seed) not in done]
    lines = []
    output = open(given.output, "a", encoding="utf-8") if given.output else None
    with multiprocessing.Pool(given.jobs) as pool:
        for number, results in enumerate(pool.imap_unordered(judge, tasks, chunksize=1), 1):
            for line in results:
                lines.append(line)
                if output:
                    output.write(json.dumps(line, separators=(",", ":")) + "\n")
                    output.flush()
                elif "error" in line or not line["verdict"]["right"]:
                    print(score.line_of(line))
            if sys.stderr.isatty():
                print("\r%d of %d" % (number, len(tasks)), end="", file=sys.stderr)
    if given.output:
        output.close()
        lines = read([given.output])
    return lines


def main():
    given = options()
    if given.list:
        for name, text in cases.DISTRIBUTIONS:
            print("%-18s %s" % (name, text))
        return 0
    if given.show:
        folder = given.keep or tempfile.mkdtemp(prefix="diagnosis-")
        truth = make(given.show[0], int(given.show[1]), folder, given.kind, given.format)
        print(json.dumps(truth, indent=1))
        print(folder)
        return 0
    if given.tables:
        print(score.tables(read(given.tables)))
        return 0
    if not given.program and "pipe_trace" in given.tools.split(","):
        print("diagnosis: say where pipe-trace is (try --help)", file=sys.stderr)
        return 2
    lines = run(given)
    print(score.tables(lines))
    errors = sum(1 for line in lines if "error" in line)
    if errors:
        print("%d runs could not be judged" % errors, file=sys.stderr)
        return 2
    shares = (
        score.share_right(lines),
        score.share_within(lines, "cost"),
        score.share_within(lines, "prediction"),
    )
    return 1 if any(100 * share < least for share, least in zip(shares, given.fail_below)) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
