"""Tests of score.py: truths and answers made by hand, with the verdicts that they must get."""

import json

import score
import score_tables

CASE = {"schedule": "1F1B", "positions": 4, "replicas": 2, "chunks": 1}
STEP, WALL = 1_000_000, 1_100_000


def fault_of(kind, cost, **more):
    fault = {"kind": kind, "ranks": [], "stages": [], "link": None, "steps": None, "factor": None}
    fault |= {"both_ways": False, "alike": [], "may_abstain": False}
    fault |= {"cost_ns": cost, "step_without_ns": STEP - cost}
    fault |= {"wall_cost_ns": cost, "wall_step_without_ns": WALL - cost}
    return fault | more


def truth_of(*faults, which="one", case=None, **more):
    truth = {"seed": 7, "set": which, "format": "job_log", "case": case or CASE, "left_out": []}
    truth |= {"step_ns": STEP, "wall_step_ns": WALL, "step_standard_error": 0.001}
    return truth | {"jitter_cost_ns": 5000, "faults": list(faults)} | more


def answer_of(*findings, **more):
    return {"findings": list(findings), "doubts": [], "not_its_aim": False, "seconds": 1} | more


def said(kind, **more):
    return {"kind": kind} | more


SLOW_RANK = fault_of("slow_rank", 100_000, ranks=[5], stages=[2], factor=1.3)
SLOW_STAGE = fault_of("slow_stage", 100_000, ranks=[4, 5], stages=[2], factor=1.3)
SLOW_LINK = fault_of("slow_link", 80_000, link=[2, 4], factor=5)
SCHEDULE = said("schedule", text="the schedule's own idle time")
RIGHT = said("slow_rank", ranks=[5])


class Checks:
    def __init__(self):
        self.wrong = self.count = 0

    def expect(self, what, found, known):
        self.count += 1
        if found != known:
            self.wrong += 1
            print("BAD  %s: %r, not %r" % (what, found, known))

    def verdict(self, what, truth, answer, **known):
        verdict = score.judge(truth, answer, "tool")
        json.loads(json.dumps(verdict))
        for key, value in known.items():
            place = verdict["faults"][0] if key in ("place", "culprit", "small") else verdict
            self.expect(what + ", " + key, place[key], value)
        return verdict


def check_answers(checks):
    truth = truth_of(SLOW_RANK)
    verdict = checks.verdict
    verdict("right", truth, answer_of(RIGHT), right=True, place=0, culprit=True, said="slow_rank")
    verdict("right behind the schedule", truth, answer_of(SCHEDULE, RIGHT), right=True, place=0)
    minor = said("slow_link", link=[0, 2], minor=True)
    verdict("right behind a minor one", truth, answer_of(minor, RIGHT), right=True)
    verdict("a doubt first", truth, answer_of(said("doubt"), RIGHT), right=True)
    wrong = said("slow_rank", ranks=[4])
    verdict("wrong rank", truth, answer_of(wrong), right=False, place=None, culprit=False)
    verdict("one rank too many", truth, answer_of(said("slow_rank", ranks=[4, 5])), right=False)
    other = said("late_starts", ranks=[5])
    verdict("wrong kind", truth, answer_of(other), right=False, place=None, culprit=True)
    verdict("right in the second place", truth, answer_of(wrong, RIGHT), right=False, place=1)
    verdict("nothing", truth, answer_of(), right=False, said="nothing", abstained=False)
    verdict("failed", truth, {"failed": "exit code 3"}, right=False)
    stage = said("slow_stage", stages=[2])
    verdict("stage in place of its rank", truth, answer_of(stage), right=False)
    lonely = fault_of(
        "slow_rank", 100_000, ranks=[2], alike=[{"kind": "slow_stage", "stages": [2]}]
    )
    alone = truth_of(lonely, case=CASE | {"replicas": 1})
    verdict("alike", alone, answer_of(stage), right=True, place=0)
    verdict("alike, wrong stage", alone, answer_of(said("slow_stage", stages=[1])), right=False)


def check_culprits(checks):
    verdict = checks.verdict
    truth = truth_of(SLOW_STAGE)
    verdict("stage", truth, answer_of(said("slow_stage", stages=[2])), right=True)
    verdict("stage by its ranks", truth, answer_of(said("slow_stage", ranks=[5, 4])), right=True)
    verdict("stage and one more", truth, answer_of(said("slow_stage", stages=[2, 3])), right=False)
    chunks = truth_of(SLOW_STAGE, case=CASE | {"chunks": 2})
    by_ranks = answer_of(said("slow_stage", ranks=[4, 5]))
    verdict("one of the stages of these ranks", chunks, by_ranks, right=False, culprit=True)
    truth = truth_of(SLOW_LINK)
    verdict("link", truth, answer_of(said("slow_link", link=[4, 2])), right=True, culprit=True)
    verdict("wrong link", truth, answer_of(said("slow_link", link=[4, 6])), right=False)
    late = fault_of("late_message", 90_000, link=[2, 4], steps=[3])
    for what, finding, right in (
        ("its link and step", said("late_message", link=[2, 4], steps=[3]), True),
        ("its sender", said("late_message", ranks=[2]), True),
        ("another step", said("late_message", link=[2, 4], steps=[2]), False),
        ("another rank", said("late_message", ranks=[3]), False),
        ("nobody", said("late_message"), False),
    ):
        verdict("late message, " + what, truth_of(late), answer_of(finding), right=right)
    everyone = fault_of("garbage_collection", 90_000, ranks=list(range(8)))
    for ranks, right in (([], True), ([0, 1, 2, 3], True), ([0, 1], False), ([0, 9], False)):
        finding = said("garbage_collection", ranks=ranks)
        verdict("pauses of %s" % ranks, truth_of(everyone), answer_of(finding), right=right)
    experts = truth_of(fault_of("uneven_experts", 90_000))
    verdict("of nobody", experts, answer_of(said("uneven_experts", ranks=[0, 1])), right=True)
    sometimes = truth_of(SLOW_RANK | {"steps": [4, 5]})
    verdict("no step", sometimes, answer_of(RIGHT), right=True)
    verdict("a step of it", sometimes, answer_of(RIGHT | {"steps": [5, 6]}), right=True)
    verdict("other steps", sometimes, answer_of(RIGHT | {"steps": [1]}), right=False)


def check_sets(checks):
    verdict = checks.verdict
    abstains = answer_of(said("cannot_tell"))
    truth = truth_of(SLOW_RANK)
    verdict("abstained", truth, abstains, right=False, abstained=True)
    may = truth_of(SLOW_RANK | {"may_abstain": True})
    verdict("may abstain", may, abstains, right=True, place=None)
    verdict("files missing", truth_of(SLOW_RANK, which="missing"), abstains, right=True)
    missing = truth_of(SLOW_RANK, which="missing")
    verdict("files missing, wrong", missing, answer_of(said("slow_rank", ranks=[1])), right=False)
    small = truth_of(SLOW_RANK | {"cost_ns": 15_000, "wall_cost_ns": 15_000})
    wrong = said("slow_rank", ranks=[1])
    verdict("small, found", small, answer_of(RIGHT), right=True, small=True)
    verdict("small, nothing", small, answer_of(SCHEDULE), right=True, place=None)
    verdict("small, abstained", small, abstains, right=True)
    verdict("small, advice", small, answer_of(said("wrong_schedule"), wrong), right=True)
    verdict("small, wrong culprit", small, answer_of(wrong, RIGHT), right=False)
    noisy = truth_of(SLOW_RANK, step_standard_error=0.03)
    verdict("below four standard errors", noisy, answer_of(), right=True, small=True)
    paused = fault_of("checkpoint_pauses", 0, wall_cost_ns=50_000)
    verdict("between steps", truth_of(paused), answer_of(), right=False, small=False)
    link = said("slow_link", link=[2, 4])
    two = truth_of(SLOW_RANK, SLOW_LINK, which="two")
    verdict("both", two, answer_of(link, SCHEDULE, RIGHT), right=True, place=1)
    verdict("both, one in fourth", two, answer_of(link, wrong, wrong, RIGHT), right=False)
    verdict("one of two", two, answer_of(RIGHT), right=False, place=0)
    cannot_tell = said("cannot_tell")
    verdict("one of two, abstained", two, answer_of(RIGHT, cannot_tell), right=False)
    may = truth_of(SLOW_RANK, SLOW_LINK | {"may_abstain": True}, which="two")
    verdict("one of two, may abstain", may, answer_of(RIGHT, cannot_tell), right=True)
    verdict("one of two, says nothing", may, answer_of(RIGHT), right=False)
    late = answer_of(RIGHT, wrong, wrong, cannot_tell)
    verdict("one of two, abstained in fourth", may, late, right=False)
    clean = truth_of(which="clean")
    verdict("clean", clean, answer_of(SCHEDULE, said("wrong_schedule")), right=True)
    accused = answer_of(SCHEDULE, wrong)
    verdict("clean, accused", clean, accused, right=False, false_culprits=["slow_rank"])


def check_figures(checks):
    def figure(name, truth, **more):
        verdict = score.judge(truth, answer_of(said("slow_rank", ranks=[5], **more)))
        return verdict["faults"][0][name]

    truth = truth_of(SLOW_RANK)
    expect = checks.expect
    expect("no cost", figure("cost", truth), None)
    expect("cost off by 4 %", figure("cost", truth, cost_ns=104_000)["within"], True)
    expect("cost off by 6 %", figure("cost", truth, cost_ns=106_000)["within"], False)
    wall = truth_of(SLOW_RANK | {"wall_cost_ns": 106_000})
    expect("cost of wall", figure("cost", wall, cost_ns=106_000, of="wall")["within"], True)
    expect("factor", figure("factor", truth, factor=1.312)["within"], True)
    factor = figure("factor", truth, factor=1.32, factor_error=0.01)
    expect("factor off", (factor["within"], round(factor["errors"], 6)), (False, 2.0))
    both = {"predicted_of_step_ns": 2 * STEP, "predicted_step_ns": 2 * 910_000}
    prediction = figure("prediction", truth, **both)
    expect("prediction", (prediction["within"], "held" in prediction), (True, False))
    prediction = figure("prediction", truth, **both, predicted_error_ns=10_000)
    expect("error bar that misses", prediction["held"], False)
    prediction = figure("prediction", truth, **both, predicted_error_ns=21_000)
    expect("error bar that holds", prediction["held"], True)
    far = both | {"predicted_step_ns": 2 * 920_000}
    expect("prediction off", figure("prediction", truth, **far)["within"], False)
    plan = truth_of(fault_of("wrong_schedule", 90_000, plan={"schedule": "ZBH1"}))
    for name, is_same in (("ZB-H1", True), ("ZBV", False)):
        better = said("wrong_schedule", plan={"schedule": name, "chunks": 1}, cost_ns=1)
        fault = score.judge(plan, answer_of(better))["faults"][0]
        expect("figures of the plan " + name, "cost" in fault, is_same)
    for cost, within in ((5900, True), (6100, False)):
        answer = answer_of(said("jitter", cost_ns=cost))
        verdict = score.judge(truth_of(which="clean"), answer)
        expect("jitter of %d" % cost, verdict["jitter"]["within"], within)


def check_forms(checks):
    expect = checks.expect
    expect("a good answer", score.problems_in(answer_of(RIGHT, SCHEDULE)), [])
    expect("unknown kind", len(score.problems_in(answer_of(said("slow")))), 1)
    expect("no findings", len(score.problems_in({})), 1)
    expect("not installed", score.problems_in({"unavailable": "no such program"}), [])
    low, high = score_tables.wilson(8, 10)
    expect("interval", (round(low, 4), round(high, 4)), (0.4902, 0.9433))
    verdicts = [
        score.judge(truth_of(SLOW_RANK), answer_of(RIGHT), "one"),
        score.judge(truth_of(SLOW_RANK), answer_of(said("slow_rank", ranks=[1])), "one"),
        score.judge(truth_of(which="clean"), answer_of(), "one"),
        score.judge(truth_of(SLOW_RANK), {"not_for_format": "job_log"}, "another"),
    ]
    text = score_tables.tables(json.loads(json.dumps(verdicts)))
    expect("a row of a table", "| slow_rank | 2 | 1 | 50.0 | 9.5 to 90.5 |" in text, True)
    expect("not asked", "does not read the format: 1" in text, True)
    expect("tables of nothing", score_tables.tables([]), "")


def check():
    checks = Checks()
    for each in (check_answers, check_culprits, check_sets, check_figures, check_forms):
        each(checks)
    print("%d checks, %d wrong" % (checks.count, checks.wrong))
    return 1 if checks.wrong else 0
