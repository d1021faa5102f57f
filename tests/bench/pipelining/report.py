"""The figures of a comparison, as text."""

import statistics

from ratios import median_interval

OURS, TORCH = "PipeTrace", "torch"
GOALS = {("mlp", 1): 1.25, ("xfmr", 1): 1.06}  # steps per second against torch
SLOWER_GOAL = {"mlp": 1.075}  # a step with 2 stages a rank against one with 1
FEW_PAIRS = 10


def interval_text(values):
    ratio, low, high = median_interval(values)
    few = f" (rough: {len(values)} of them)" if len(values) < FEW_PAIRS else ""
    return f"{ratio:.3f}, 95 % interval {low:.3f} to {high:.3f}{few}", low, high


def verdict(goal, words, is_reached, pairs):
    """A goal is reached if the whole interval is. Few pairs say nothing."""
    if goal is None:
        return ""
    return f"; goal {words}{goal:g}" + ("" if pairs < FEW_PAIRS else
                                          ": reached" if is_reached else ": MISSED")


def print_case(case, pairs, goal, losses_are_equal):
    model, v = case
    median = {(side, what): statistics.median(pair[side][what] for pair in pairs)
              for side in (OURS, TORCH) for what in ("ms", "cpu_ms")}
    text, low, _ = interval_text([pair[TORCH]["ms"] / pair[OURS]["ms"] for pair in pairs])
    losses = pairs[0][OURS]["losses"]
    print(f"\n{model}, v = {v}, {pairs[0][OURS]['schedule']}, pairs: {len(pairs)}")
    print(f"  steps/s {1e3 / median[OURS, 'ms']:.3f}, torch {1e3 / median[TORCH, 'ms']:.3f}: ratio "
          f"{text}{verdict(goal, '', goal and low >= goal, len(pairs))}")
    print(f"  processor time a step, all ranks: {median[OURS, 'cpu_ms']:.0f} ms, torch "
          f"{median[TORCH, 'cpu_ms']:.0f} ms")
    if losses_are_equal:
        print(f"  losses equal up to rounding, steps: {len(losses)}, from {losses[0]:.7f} to "
              f"{losses[-1]:.7f}")


def print_slowdown(model, side, ones, twos, goal):
    """How much longer a step takes with two stages a rank, round by round."""
    values = [two[side]["ms"] / one[side]["ms"] for one, two in zip(ones, twos)]
    if not values:
        return
    text, _, high = interval_text(values)
    print(f"{model}, {side}: a step with v = 2 against v = 1: {text}"
          f"{verdict(goal, 'at most ', goal and high <= goal, len(values))}")


def print_report(pairs, differences, has_goals):
    """`pairs`: by (model, v), each pair the rows of both sides. `differences`: texts with their case.
    Goals are for the usual models and schedules only."""
    different = {case for case, _ in differences}
    for case in pairs:
        if pairs[case]:
            print_case(case, pairs[case], GOALS.get(case) if has_goals else None,
                       case not in different)
    models = dict.fromkeys(model for model, _ in pairs)
    if any(v == 1 for _, v in pairs) and any(v == 2 for _, v in pairs):
        print()
        for model in models:
            for side in (OURS, TORCH):
                goal = SLOWER_GOAL.get(model) if has_goals and side == OURS else None
                print_slowdown(model, side, pairs[model, 1], pairs[model, 2], goal)
    for _, text in differences:
        print(f"losses DIFFER: {text}")
