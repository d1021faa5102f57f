"""Scores what a tool says of a run against the truth about it (README.md has the rules).

    score.py RUNS.jsonl --verdicts VERDICTS.jsonl     judges lines {"tool", "truth", "answer"}
    score.py --tables VERDICTS.jsonl [MORE.jsonl]     prints the tables of verdicts, as Markdown
    score.py --check                                  tests itself with answers made by hand

judge() and tables() do the same for programs. A verdict is a dict of plain values: it can be
written down, and tables can be made of it again.
"""

import argparse
import json
import re
import sys

from score_tables import tables, verdicts_in

# Whom an answer of each kind must name.
# stages, ranks: just those of the truth. link: both its ends, in any order. message: its link, or
# one of its ends, and its step where the answer has steps. some: ranks of the truth, at least half
# of them; of a fault of all ranks it may name none, and any where the truth names none. nobody: the
# kind is the whole answer.
KINDS = {
    "slow_stage": "stages",
    "slow_rank": "ranks",
    "slow_link": "link",
    "late_message": "message",
    "late_sends": "ranks",
    "messages_in_line": "nobody",
    "late_starts": "ranks",
    "garbage_collection": "some",
    "data_stall": "some",
    "checkpoint_pauses": "nobody",
    "uneven_micro_batches": "nobody",
    "uneven_experts": "some",
    "slow_reduction": "ranks",
    "slow_optimizer": "ranks",
    "exposed_gathers": "nobody",
    "contention": "nobody",
    "few_micro_batches": "nobody",
    "wrong_schedule": "nobody",
}
OF_PLANS = ("few_micro_batches", "wrong_schedule")
# Other words for the same kinds.
SAME = {"slow_group": "slow_reduction"}
# Answers that say nothing is wrong, and are passed over: what the schedule leaves idle by itself
# and other time that every such run has; ranks that vary by chance; doubts about the input.
PASSED_OVER = ("schedule", "jitter", "doubt")
CANNOT_TELL = "cannot_tell"
OF_PLANS = ("few_micro_batches", "wrong_schedule")
ANSWERS = (*KINDS, *SAME, *PASSED_OVER, CANNOT_TELL, "other")

FIRST_FEW = 3
SMALL_SHARE = 0.02  # of a step
SMALL_ERRORS = 4  # standard errors of a step
FACTOR_WITHIN = 0.01
COST_WITHIN = 0.05
PREDICTION_WITHIN = 0.02
JITTER_WITHIN = 0.20
# Members that an answer has in place of findings, and what the tables call such a run.
NO_ANSWER = ("unavailable", "not_for_format", "failed")


# Whether a finding is right -----------------------------------------------------------------------


def counts(finding):
    """Whether a finding is about something that is wrong with the run."""
    return finding["kind"] not in PASSED_OVER and not finding.get("minor", False)


def counts_beside(finding, faults, lacks_ranks):
    """Where the plan alone is at fault, who cannot tell why ranks wait for messages may still say
    that it is."""
    is_of_plans = bool(faults) and all(fault["kind"] in OF_PLANS for fault in faults)
    is_of_plans = is_of_plans and not lacks_ranks
    return counts(finding) and not (is_of_plans and finding["kind"] == CANNOT_TELL)


def names_culprit(finding):
    if finding["kind"] == CANNOT_TELL or not counts(finding):
        return False
    return bool(finding.get("ranks") or finding.get("stages") or finding.get("link"))


def have_one_link(one, other):
    return bool(one) and bool(other) and set(one) == set(other)


def steps_fit(truth, finding):
    """Who names steps must name one of the truth's; who names none says it of the run."""
    steps, said = truth.get("steps"), finding.get("steps")
    return not steps or not said or bool(set(steps) & set(said))


def names_same(whom, truth, finding, case):
    """Whether a finding names the culprits of `truth`: of a fault, or of what is alike to it."""
    ranks, stages = set(truth.get("ranks") or ()), set(truth.get("stages") or ())
    said_ranks, said_stages = set(finding.get("ranks") or ()), set(finding.get("stages") or ())
    if whom == "nobody":
        return True
    if whom == "stages":
        if said_stages or case.get("chunks", 1) > 1:
            return said_stages == stages
        return bool(ranks) and said_ranks == ranks
    if whom == "ranks":
        if said_ranks or not said_stages:
            return said_ranks == ranks
        return said_stages == stages
    if whom == "some":
        if not said_ranks or not ranks:
            return len(ranks) in (0, world_of(case))
        return said_ranks <= ranks and 2 * len(said_ranks) >= len(ranks)
    if finding.get("link") or whom == "link":
        return have_one_link(truth.get("link"), finding.get("link"))
    return bool(said_ranks) and said_ranks <= set(truth["link"])


def kind_of(each):
    """Of a fault or a finding."""
    return SAME.get(each["kind"], each["kind"])


def is_answer(truth, finding, case):
    if kind_of(truth) != kind_of(finding) or not steps_fit(truth, finding):
        return False
    return names_same(KINDS[kind_of(truth)], truth, finding, case)


def is_right(fault, finding, case):
    """Whether the finding says of the fault what it is and whose, or what is alike to it."""
    return any(is_answer(each, finding, case) for each in (fault, *fault.get("alike", ())))


def is_culprit(fault, finding, case):
    """Whether it names the right one, whatever kind it says; None: the fault has none."""
    if is_right(fault, finding, case):
        return True
    ends, stages = set(fault.get("link") or ()), set(fault.get("stages") or ())
    guilty = set(fault.get("ranks") or ends)
    if not guilty and not stages:
        return None
    if stages and (finding.get("stages") or not guilty):
        return set(finding.get("stages") or ()) == stages
    said = set(finding.get("ranks") or finding.get("link") or ())
    return bool(said) and (said <= guilty if ends else said == guilty)


def world_of(case):
    if "world" in case:
        return case["world"]
    return case.get("positions", 0) * case.get("replicas", 1)


# Its figures --------------------------------------------------------------------------------------


def factor_of(fault, finding):
    said, true = finding.get("factor"), fault.get("factor")
    if not said or not true:
        return None
    off, error = said / true - 1, finding.get("factor_error")
    errors = abs(said - true) / error if error else None
    return {
        "said": said,
        "true": true,
        "off": off,
        "within": abs(off) <= FACTOR_WITHIN,
        "errors": errors,
    }


def of_wall(finding):
    """Whether its times are about steps from begin to begin, not from begin to end."""
    return finding.get("of", "window") == "wall"


def cost_of(fault, finding):
    said = finding.get("cost_ns")
    true = fault.get("wall_cost_ns" if of_wall(finding) else "cost_ns")
    if said is None or not true:
        return None
    off = said / true - 1
    return {"said_ns": said, "true_ns": true, "off": off, "within": abs(off) <= COST_WITHIN}


def prediction_of(fault, finding, truth):
    """The step that is predicted, over the one it is to be compared with."""
    predicted, before = finding.get("predicted_step_ns"), finding.get("predicted_of_step_ns")
    wall = "wall_" if of_wall(finding) else ""
    without, step = fault.get(wall + "step_without_ns"), truth.get(wall + "step_ns")
    if not predicted or not before or not without or not step:
        return None
    said, true = predicted / before, without / step
    result = {
        "said": said,
        "true": true,
        "off": said / true - 1,
        "within": abs(said / true - 1) <= PREDICTION_WITHIN,
    }
    error = finding.get("predicted_error_ns")
    if error is not None:
        result["bar"] = error / before
        result["held"] = abs(said - true) <= error / before
        result["level"] = finding.get("predicted_level")
    return result


def plain(value):
    """Of a plan: ZB-H1 and ZBH1 are one schedule."""
    return re.sub(r"[^a-z0-9]", "", str(value).lower())


def is_of_same_plan(fault, finding):
    """Other plans have other figures: what an answer says of one is compared with the truth about
    just that one."""
    if fault["kind"] not in OF_PLANS:
        return True
    plan, said = fault.get("plan"), finding.get("plan") or {}
    return bool(plan) and all(plain(plan[key]) == plain(said.get(key)) for key in plan)


# Verdicts -----------------------------------------------------------------------------------------


def share_of(fault, truth):
    """What it costs, as a share of the step: of the two ways to count, the larger one."""
    shares = [
        fault[wall + "cost_ns"] / truth[wall + "step_ns"]
        for wall in ("", "wall_")
        if fault.get(wall + "cost_ns") is not None and truth.get(wall + "step_ns")
    ]
    return max(shares, default=0.0)


def is_small(share, truth):
    error = truth.get("step_standard_error") or 0.0
    return truth["set"] == "small" or share < max(SMALL_SHARE, SMALL_ERRORS * error)


def judged_fault(fault, counted, truth):
    """How a fault fared among the findings that count; places are from 0."""
    case = truth["case"]
    share = share_of(fault, truth)
    place = next((i for i, each in enumerate(counted) if is_right(fault, each, case)), None)
    has_culprit = fault.get("ranks") or fault.get("link") or fault.get("stages")
    culprit = bool(counted and is_culprit(fault, counted[0], case)) if has_culprit else None
    result = {
        "kind": kind_of(fault),
        "share": share,
        "small": is_small(share, truth) or (fault.get("errors") or SMALL_ERRORS) < SMALL_ERRORS,
        "place": place,
        "culprit": culprit,
        "may_abstain": bool(fault.get("may_abstain")),
    }
    if place is not None and place < FIRST_FEW and is_of_same_plan(fault, counted[place]):
        result["factor"] = factor_of(fault, counted[place])
        result["cost"] = cost_of(fault, counted[place])
        result["prediction"] = prediction_of(fault, counted[place], truth)
    return result


def is_fine(verdict, faults, counted):
    """The score of a run, by the rules of its set."""
    names_first = bool(counted) and names_culprit(counted[0])
    if not faults:
        return not verdict["false_culprits"]
    if any(fault["place"] == 0 and len(faults) == 1 for fault in faults):
        return True
    if verdict["abstained"] and (
        truth_is_missing(verdict) or all(fault["may_abstain"] for fault in faults)
    ):
        return True
    large = [fault for fault in faults if not fault["small"]]
    if not large:
        return any(fault["place"] == 0 for fault in faults) or not names_first
    if len(faults) == 1:
        return False
    abstains = any(finding["kind"] == CANNOT_TELL for finding in counted[:FIRST_FEW])
    return all(
        (fault["place"] is not None and fault["place"] < FIRST_FEW)
        or (fault["may_abstain"] and abstains)
        for fault in large
    )


def truth_is_missing(verdict):
    return verdict["set"] == "missing"


def jitter_of(truth, findings):
    """What the tool says that variation by chance costs, where it says that."""
    true = truth.get("jitter_cost_ns")
    said = [
        each["cost_ns"] for each in findings if each["kind"] == "jitter" and each.get("cost_ns")
    ]
    if not said or not true:
        return None
    off = sum(said) / true - 1
    return {
        "said_ns": sum(said),
        "true_ns": true,
        "share": true / truth["step_ns"],
        "off": off,
        "within": abs(off) <= JITTER_WITHIN,
    }


def judge(truth, answer, tool=""):
    """The verdict on a tool's answer about a run. `right` is the score by the rules of the set."""
    case = truth["case"]
    faults = [fault for fault in truth["faults"] if fault["kind"] != "jitter"]
    unknown = [fault["kind"] for fault in faults if kind_of(fault) not in KINDS]
    if unknown:
        raise ValueError("no such kind of fault: " + ", ".join(unknown))
    verdict = {
        "tool": tool,
        "seed": truth["seed"],
        "set": truth["set"],
        "format": truth["format"],
        "schedule": case.get("schedule", ""),
        "world": world_of(case),
        "not_its_aim": bool(answer.get("not_its_aim")),
        "aims": answer.get("aims"),
        "seconds": answer.get("seconds"),
    }
    for reason in NO_ANSWER:
        if answer.get(reason):
            verdict["no_answer"] = reason
            verdict["why"] = str(answer[reason])
    counted = [
        each
        for each in answer.get("findings", ())
        if counts_beside(each, faults, truth["set"] == "missing")
    ]
    verdict["said"] = kind_of(counted[0]) if counted else "nothing"
    verdict["abstained"] = bool(counted) and counted[0]["kind"] == CANNOT_TELL
    verdict["false_culprits"] = (
        [] if faults else [each["kind"] for each in counted if names_culprit(each)]
    )
    verdict["faults"] = [judged_fault(fault, counted, truth) for fault in faults]
    verdict["right"] = is_fine(verdict, verdict["faults"], counted)
    if verdict.get("no_answer") == "failed":
        verdict["right"] = False
    verdict["jitter"] = jitter_of(truth, answer.get("findings", ()))
    return verdict


def share_right(lines):
    """The share of runs that are right, of those that a tool was asked about."""
    asked = [each for each in verdicts_in(lines) if each.get("no_answer") in (None, "failed")]
    return sum(each["right"] for each in asked) / len(asked) if asked else 0.0


def share_within(lines, figure):
    """The share of the costs, or of the predictions, that are close enough to the truth."""
    said = [
        fault[figure]["within"]
        for verdict in verdicts_in(lines)
        for fault in verdict["faults"]
        if fault.get(figure) and not fault["small"]
    ]
    return sum(said) / len(said) if said else 0.0


def line_of(line):
    """A line about one run, for people."""
    truth = line["truth"]
    text = "%-10s %-8s seed %-5s" % (line.get("tool", ""), truth["set"], truth["seed"])
    if "error" in line:
        return text + " could not be judged: " + line["error"]
    verdict = line["verdict"]
    faults = [
        "%s, %.1f %% of a step" % (fault["kind"], 100 * fault["share"])
        for fault in verdict["faults"]
    ]
    text = "%-5s %s" % ("right" if verdict["right"] else "WRONG", text)
    text += " %-14s %s" % (truth["format"], "; ".join(faults) or "no fault")
    counted = [each for each in line["answer"].get("findings", ()) if counts(each)]
    said = verdict.get("why") or (counted[0].get("text") if counted else "") or verdict["said"]
    return text + ". Said: " + str(said).strip()


# Answers ------------------------------------------------------------------------------------------


def problems_in(answer):
    """What is wrong with the form of an answer, for those who write adapters."""
    problems = []
    if not isinstance(answer.get("findings"), list) and not any(map(answer.get, NO_ANSWER)):
        problems.append('has no list "findings"')
    for number, finding in enumerate(answer.get("findings") or ()):
        where = "finding %d: " % number
        if finding.get("kind") not in ANSWERS:
            problems.append(where + "its kind is %r, none of README.md" % finding.get("kind"))
        for key in ("ranks", "stages", "steps"):
            value = finding.get(key)
            if value is not None and not all(isinstance(each, int) for each in value):
                problems.append(where + "%s are no list of numbers" % key)
        if finding.get("link") is not None and len(finding["link"]) != 2:
            problems.append(where + "a link has two ranks")
        if finding.get("of", "window") not in ("window", "wall"):
            problems.append(where + "of is neither window nor wall")
        if bool(finding.get("predicted_step_ns")) != bool(finding.get("predicted_of_step_ns")):
            problems.append(where + "a prediction needs both of its steps")
    return problems


def read_lines(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    yield json.loads(line)


def main():
    text, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="lines of JSON: runs, or with --tables verdicts")
    parser.add_argument("--verdicts", metavar="FILE", help="writes verdicts (default: prints them)")
    parser.add_argument("--tables", action="store_true", help="prints tables of verdicts")
    parser.add_argument("--check", action="store_true", help="tests itself")
    given = parser.parse_args()
    if given.check:
        import score_checks

        return score_checks.check()
    if not given.files:
        parser.error("needs a file (try --help)")
    if given.tables:
        print(tables(list(read_lines(given.files))), end="")
        return 0
    lines = "".join(
        json.dumps(judge(each["truth"], each["answer"], each.get("tool", ""))) + "\n"
        for each in read_lines(given.files)
        if "error" not in each
    )
    if not given.verdicts:
        sys.stdout.write(lines)
        return 0
    with open(given.verdicts, "w", encoding="utf-8") as file:
        file.write(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
