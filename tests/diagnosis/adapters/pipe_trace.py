"""Asks `pipe-trace report --json`.

Settings: `program` (default: pipe-trace), `options` (more of its options, a list), `look_again`
(default: true), `what_if` (default: true), `timeout` in seconds.

- Kinds of findings become those of README.md by the table below. Figures are taken as the report
  has them.
- Of several ranks of late jobs or messages those count that cost at least half of what the first
  of them costs: the report's sentence has their shares.
- `look_again`: where the report says that clocks differ and names the option that puts them right
  (`--align causal`), it is made again with that.
- A step without the cause is the one of the finding, else of the piece of advice about the same
  rank, link or cause. Where the report has neither, `pipe-trace what-if` is asked for the first
  findings (`what_if`): the rank, stage or link as fast as the report says that others are, no
  launches, or no loading. What pauses cost is how much longer than usual they are, over the steps
  after which there could be one.
- Other schedules and more micro-batches are pieces of advice. They come behind all findings, in the
  report's order. So does advice on anything else that no finding is about.
"""

import json
import re
import subprocess
import time

# What each kind of the report is called here. None: by its facts, in kind_of().
KINDS = {
    "early_messages": "doubt",
    "early_link": "doubt",
    "slow_stages": None,
    "slow_rank": "slow_rank",
    "slow_replica": "slow_rank",  # all ranks of it
    "long_job": "other",
    "often_long_job": "other",
    "long_jobs": "other",
    "uneven_micro_batches": "uneven_micro_batches",
    "scattered_pauses": "garbage_collection",
    "uneven_load": "uneven_experts",
    "slow_group": "slow_reduction",
    "slow_reduction": "slow_reduction",
    "uneven_moving": "schedule",  # nobody is to blame
    "peers_vary": "jitter",
    "unsteady_jobs": None,
    "untraced_peers": "cannot_tell",
    "exposed_collectives": "exposed_gathers",
    "contention": "contention",
    "data": "data_stall",
    "late_job": "late_starts",
    "late_jobs": "late_starts",
    "late_messages": None,
    "slow_link": None,
    "long_messages": "late_message",
    "messages": "schedule",  # on links that are all alike
    "unlogged_messages": "cannot_tell",  # late sends and slow messages look alike, it says
    "held_lines": "messages_in_line",
    "unknown_sender": "cannot_tell",
    "of_class": "other",
    "pauses": None,
    "schedule": "schedule",
    "slow_optimizer": "slow_optimizer",
    "optimizers": "schedule",
    "optimizers_and_collectives": "schedule",
    "unknown": "cannot_tell",
}
# Pauses between steps, by their reason. Those without one are the program's: it saves or loads
# something.
PAUSES = {
    "data": "data_stall",
    "checkpoint": "checkpoint_pauses",
    "evaluation": "schedule",
    "prediction": "schedule",
    None: "checkpoint_pauses",
}
# What pieces of advice are about. None: nothing that the yardstick plants, or what findings say.
ADVICE = {
    "schedule": "wrong_schedule",
    "micro_batches": "few_micro_batches",
    "message_order": "messages_in_line",
    "message_lines": "messages_in_line",
    "rank": "slow_rank",
    "link": "slow_link",
    "launches": "late_starts",
    "lengths": "uneven_micro_batches",
    "pauses": "garbage_collection",
    "data": "data_stall",
    "load": "uneven_experts",
    "group": "slow_reduction",
    "weights": "exposed_gathers",
    "warm_up": None,
    "partition": None,
    "balance": None,
    "stage": None,
}
# Pieces of advice after which the cause is still there: ranks pause at the same time then.
NOT_GONE = ("pauses",)
# Kinds of findings whose steps are those that they are about, not those of an example.
WITH_STEPS = (
    "slow_rank", "slow_stages", "long_messages", "late_messages", "long_job", "late_job"
)  # fmt: skip
# Kinds whose ranks all have the cause, mostly by chance, while few of them cost much.
WITH_SHARES = ("late_job", "late_jobs", "late_messages")
ALIGN = ["--align", "causal"]
CLOCKS_APART = "clocks_apart"
WITHHELD = "causes_withheld"
FAST = 0.995  # a stage with a smaller factor is faster than others
ASKED = 3  # findings
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


# The report ---------------------------------------------------------------------------------------


class NoReport(Exception):
    """It printed none: `text` says why, `doubts` whether it doubts its input."""

    def __init__(self, text):
        super().__init__(text)
        self.doubts = [line for line in text.splitlines() if line.startswith("doubt")]


def run(settings, command, folder, more):
    line = [settings.get("program", "pipe-trace"), command, folder, "--json", "--threads", "1"]
    line += [*more, *settings.get("options", ())]
    timeout = settings.get("timeout", 600)
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=timeout)
    if done.returncode != 0:
        raise NoReport("exit code %d\n%s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


def says_clocks_differ(report):
    doubts = [doubt["kind"] for doubt in report["trust"]]
    kinds = [finding["kind"] for finding in report["findings"]]
    return CLOCKS_APART in doubts or "early_messages" in kinds


# Findings -----------------------------------------------------------------------------------------


def where_of(finding):
    where = finding.get("where", finding.get("blames"))
    if where is None:
        raise NoReport("findings have no member `where`: this pipe-trace is too old")
    return where


def is_of_collectives(where):
    return any(first == second for first, second in where.get("links", ()))


def kind_of(finding, world):
    kind, evidence, where = finding["kind"], finding["evidence"], where_of(finding)
    if kind == "slow_stages" and where.get("steps"):
        return "slow_rank"  # the rank of these stages, in these steps
    if kind == "slow_stages":  # or one that is faster than the others, which wait for them
        return "slow_stage" if evidence.get("factor", 1) >= FAST else "other"
    if kind == "unsteady_jobs":  # one rank alone is no chance
        return "other" if where.get("ranks") else "jitter"
    if kind in ("late_jobs", "late_messages") and not where.get("ranks"):
        return "schedule"  # all ranks have some of it, and nobody is to blame
    if kind == "slow_link" and not where.get("links") and not where.get("ranks"):
        return "schedule"  # messages on the only link
    if kind == "late_messages":
        return "late_message" if len(where.get("steps", ())) == 1 else "late_sends"
    if kind == "slow_link":  # between a rank and itself: of collectives, as the sentence says
        return "slow_reduction" if is_of_collectives(where) else "slow_link"
    if kind == "pauses" and evidence.get("pause", {}).get("may_be_updates"):
        return "cannot_tell"
    if kind == "pauses":
        return PAUSES[evidence.get("pause", {}).get("reason")]
    return KINDS.get(kind, "other")


def nanoseconds(text):
    """ "3.000 ms" as a number; 0: it is none."""
    found = re.match(r"([\d.]+) (ns|us|ms|s)$", text)
    return float(found[1]) * UNITS[found[2]] if found else 0.0


def ranks_of(finding):
    where, costs = where_of(finding), finding["evidence"].get("ranks", ())
    ranks = where.get("ranks", [])
    if is_of_collectives(where):
        return [where["links"][0][0]]
    if where.get("links"):
        return []
    if finding["kind"] not in WITH_SHARES or not ranks or not costs:
        return ranks
    most = max(each["time_ns"] for each in costs)
    return sorted(each["rank"] for each in costs if 2 * each["time_ns"] >= most)


def factor_of(finding):
    """How many times as long things take, as a number, and its standard error; None: not said."""
    evidence = finding["evidence"]
    if "factor" in evidence:
        return evidence["factor"], evidence.get("standard_error")
    if "group" in evidence:
        return evidence["group"]["factor"], None
    if "contention" in evidence:
        return evidence["contention"]["factor"], None
    times = times_of_link(finding)
    return (times[0] / times[1], None) if times else (None, None)


def times_of_link(finding):
    """How long its messages take, and those of other links, ns; None: it says nothing of these."""
    found = re.search(r" take (.*?) \(median; other links (.*?)\)", finding["text"])
    times = [nanoseconds(text) for text in found.groups()] if found else [0, 0]
    return times if times[1] else None


def plan_of(advice):
    """The plan that a piece of advice is about, as its sentence names it; empty: of none."""
    found = re.match(r"take (\S+)(?: with (\d+) virtual stages a rank)? in place", advice["text"])
    if advice["kind"] == "schedule" and found:
        return {"plan": {"schedule": found[1], "chunks": int(found[2] or 1)}}
    found = re.match(r"cut the batch into (\d+)", advice["text"])
    if advice["kind"] == "micro_batches" and found:
        return {"plan": {"micro_batches": int(found[1])}}
    return {}


class Answer:
    """Findings in the words of README.md."""

    def __init__(self, report):
        self.report = report
        self.advice = report.get("advice", {})
        self.of = "wall" if self.advice.get("step_wall_ns") else "window"
        self.findings = []
        for each in report["findings"]:
            self.add(each)
        self.add_withheld()
        self.add_advice()

    def mean(self, of):
        times = self.report["summary"][{"wall": "step_wall_ns", "window": "window_ns"}[of]]
        return times["mean"] if times else None

    def add(self, finding):
        where, evidence = where_of(finding), finding["evidence"]
        links = where.get("links", ())
        factor, error = factor_of(finding)
        said = {
            "kind": kind_of(finding, self.report["profile"]["ranks"]),
            "ranks": ranks_of(finding),
            "stages": where.get("stages", []),
            "link": list(links[0]) if len(links) == 1 and not is_of_collectives(where) else None,
            "steps": where.get("steps") if finding["kind"] in WITH_STEPS else None,
            "factor": factor,
            "factor_error": error,
            "usual_ns": (times_of_link(finding) or (None, None))[1],
            "text": finding["text"],
            "severity": finding["severity"],
            "minor": finding["minor"],
        }
        if "predicted_mean_step_ns" in evidence and self.mean_paid():
            self.predict(said, evidence["predicted_mean_step_ns"], self.mean_paid(), self.of)
        elif "predicted_step_ns" in evidence:
            self.predict(said, evidence["predicted_step_ns"], self.paid(), self.of)
        self.findings.append(said)

    def charge(self):
        """The report says how long pauses last after how many steps, and of ranks that vary what
        share of the steps' wall time they are idle for it. Of other kinds such a share is no part
        of a step."""
        wall = self.mean("wall") or self.mean("window")
        for said, finding in zip(self.findings, self.report["findings"]):
            evidence = finding["evidence"]
            pause = evidence.get("pause")
            if "cost_ns" in said:
                continue
            if pause and pause["steps"]:
                is_loading = pause.get("reason") == "data"
                usual = pause["count"] * pause.get("usual_ns", 0)
                time = pause["work_ns"] if is_loading else pause["time_ns"] - usual
                said["cost_ns"] = time / pause["steps"]
                said["of"] = "wall"
            elif said["kind"] == "jitter" and wall:
                said["cost_ns"] = evidence.get("share_of_steps", 0) * wall
                said["of"] = "window"

    @staticmethod
    def predict(said, step, before, of, error=None):
        if not step or not before:
            return
        said["predicted_step_ns"], said["predicted_of_step_ns"] = step, before
        said["cost_ns"], said["of"] = before - step, of
        if error:
            said["predicted_error_ns"] = error

    def add_withheld(self):
        """Where causes are withheld the report cannot know them, whatever else it says."""
        withheld = [each for each in self.report["trust"] if each["effect"] == WITHHELD]
        if withheld and not any(each["kind"] == "cannot_tell" for each in self.findings):
            text = withheld[0]["text"]
            self.findings.append({"kind": "cannot_tell", "text": text, "severity": "warning"})
        for note in self.advice.get("notes", ()):
            if note.startswith("other plans were not simulated"):
                self.findings.append({"kind": "cannot_tell", "text": note, "severity": "note"})

    # Advice ------------------------------------------------------------------------------------

    def paid(self):
        return self.advice.get("step_wall_ns") or self.advice.get("step_ns")

    def mean_paid(self):
        return self.advice.get("mean_step_ns") or self.mean(self.of)

    def add_advice(self):
        for each in self.advice.get("advice", ()):
            kind = ADVICE.get(each["kind"])
            if kind is None:
                continue
            ranks, link = self.numbers_in(each)
            error = each["error"] * self.paid() if each["simulated"] else None
            same = [
                finding
                for finding in self.findings
                if finding["kind"] == kind
                and (not ranks or finding["ranks"] == ranks)
                and (not link or set(finding["link"] or ()) == set(link))
            ]
            if not same:
                said = {"kind": kind, "ranks": ranks, "link": link, "text": each["text"]}
                said |= plan_of(each)
                same = [said]
                self.findings.append(said)
            if "predicted_step_ns" not in same[0] and each["kind"] not in NOT_GONE:
                if each.get("mean_step_ns") and self.mean_paid():
                    self.predict(same[0], each["mean_step_ns"], self.mean_paid(), self.of)
                else:
                    self.predict(same[0], each["step_ns"], self.paid(), self.of, error)

    @staticmethod
    def numbers_in(advice):
        """The rank or the link of a piece of advice: its sentence names them."""
        found = re.search(r"(?:make rank|the link) (\d+)(?:-(\d+))?", advice["text"])
        if not found:
            return [], None
        if found[2]:
            return [], [int(found[1]), int(found[2])]
        return [int(found[1])], None


# What if ------------------------------------------------------------------------------------------


def changes_for(said):
    """The options of what-if that remove a cause; empty: it has none."""
    kind, factor = said["kind"], said.get("factor")
    scales = []
    if kind == "slow_rank" and factor and not said.get("steps"):
        scales = ["rank=%d:%.6f" % (rank, 1 / factor) for rank in said["ranks"]]
    elif kind == "slow_stage" and factor and not said.get("steps"):
        scales = ["stage=%d:%.6f" % (stage, 1 / factor) for stage in said["stages"]]
    elif kind == "slow_link" and factor and said["link"]:
        return ["--link", "%d-%d=%dns" % (*said["link"], said["usual_ns"])]
    elif kind in ("late_starts", "late_sends"):
        if not said["ranks"]:
            return ["--no-launch"] if kind == "late_starts" else []
        return [word for rank in said["ranks"] for word in ("--usual-launch", str(rank))]
    elif kind == "data_stall":
        scales = ["kind=data:0"]
    return [word for scale in scales for word in ("--scale", scale)]


def ask_what_if(said, folder, settings, options):
    changes = changes_for(said)
    if not changes or "cost_ns" in said:
        return
    try:
        result = run(settings, "what-if", folder, [*changes, *options])
    except NoReport:
        return
    before, after = result["unchanged"], result["changed"]
    wall = all(each.get("mean_step_wall_ns") for each in (before, after)) and (
        100 * (before["mean_step_wall_ns"] - before["mean_step_ns"]) > before["mean_step_wall_ns"]
    )
    key = "mean_step_wall_ns" if wall else "mean_step_ns"
    Answer.predict(said, after[key], before[key], "wall" if wall else "window")


# The adapter --------------------------------------------------------------------------------------


def findings(folder, hints, settings):
    begin = time.monotonic()
    options = ALIGN if hints.get("clocks_differ") else []
    doubts = []
    try:
        report = run(settings, "report", folder, options)
        doubts += [doubt["text"] for doubt in report["trust"]]
        if says_clocks_differ(report) and not options and settings.get("look_again", True):
            options = ALIGN
            report = run(settings, "report", folder, options)
            doubts = [doubt["text"] for doubt in report["trust"]]
        answer = Answer(report)
    except subprocess.TimeoutExpired:
        return {"failed": "no report in time", "findings": [], "doubts": doubts}
    except NoReport as error:
        said = [{"kind": "cannot_tell", "text": str(error)}] if error.doubts else []
        result = {"findings": said, "doubts": doubts + error.doubts}
        return result if said else result | {"failed": str(error)}
    seconds = time.monotonic() - begin
    if settings.get("what_if", True):
        counted = [each for each in answer.findings if each["kind"] not in ("schedule", "doubt")]
        for said in counted[:ASKED]:
            ask_what_if(said, folder, settings, options)
    answer.charge()
    return {
        "findings": answer.findings,
        "doubts": doubts,
        "step_ns": answer.mean("window"),
        "wall_step_ns": answer.mean("wall"),
        "not_its_aim": False,
        "seconds": seconds,
    }
