"""What a trial has to end in, by docs/runtime.md."""

import dataclasses

AT_ONCE, SILENT = 10, 16  # seconds
UNSURE_BEFORE, UNSURE_AFTER = 0.7, 1.5  # seconds around a limit: a run may go on or end
FOR_GOOD = 100_000_000  # steps
STUCK = 124
DIED, FAILED, SILENT_TEXT, STALLED = "died", "failed", "has not been heard of", "stalled"


@dataclasses.dataclass
class Expectation:
    goes_on: bool = True   # the run may reach its end
    ends: bool = False     # the fault may end it
    within: float = 0      # seconds from the fault to the end
    culprits: set = dataclasses.field(default_factory=set)  # ranks, one of which is named
    cause: str = ""        # that word of theirs
    silent: set = dataclasses.field(default_factory=set)    # ranks that need not say anything
    codes: dict = dataclasses.field(default_factory=dict)   # by rank, where it is not 2
    lost_logs: bool = False  # logs end where the disk was full

    @property
    def is_sure_to_end(self):
        return self.ends and not self.goes_on


def ends(within, culprits=(), cause="", **more):
    return Expectation(goes_on=False, ends=True, within=within, culprits=set(culprits), cause=cause,
                       **more)


def goes_on(**more):
    return Expectation(**more)


def either(expectation):
    return dataclasses.replace(expectation, goes_on=True)


def expectation_of(trial, settings, plan):
    return RULES[trial.fault](trial, settings, plan)


def of_pause(trial, settings, _plan):
    if trial.transport == "in-process":
        return goes_on()  # all ranks were stopped, so none was late
    ended = ends(SILENT, [trial.rank], SILENT_TEXT, silent={trial.rank})
    if trial.seconds < settings.limit - UNSURE_BEFORE:
        return goes_on()
    return ended if trial.seconds > settings.limit + UNSURE_AFTER else either(ended)


def of_stage_fault(cause):
    def rule(trial, settings, plan):
        culprits = {trial.rank}
        if trial.transport == "in-process":  # a stage may be on two ranks
            culprits = {rank for stage in plan.stages[trial.rank] for rank in plan.ranks_of(stage)}
        if trial.fault != "sleep":
            return ends(AT_ONCE, culprits, cause)
        if trial.seconds < settings.step_timeout:
            return goes_on()
        return ends(AT_ONCE, culprits, cause, codes={trial.rank: (2, STUCK)})
    return rule


def of_batch(trial, _settings, plan):
    culprits = plan.ranks_that_load() if trial.transport == "in-process" else [trial.rank]
    return ends(AT_ONCE, culprits, STALLED, codes={trial.rank: (STUCK,)})


def of_cut(trial, _settings, _plan):
    return ends(SILENT)  # judged by host


def of_stop_signal(trial, _settings, _plan):
    if trial.variant == "one":
        return ends(AT_ONCE, [trial.rank], "was stopped by SIGINT", codes={trial.rank: (130,)})
    return ends(AT_ONCE, range(trial.ranks), "was stopped by SIGINT",
                codes={rank: (130,) for rank in range(trial.ranks)})


RULES = {
    "kill": lambda t, s, p: ends(AT_ONCE, [t.rank], DIED, silent={t.rank}),
    "stop": lambda t, s, p: ends(SILENT, [t.rank], SILENT_TEXT, silent={t.rank}),
    "pause-short": of_pause,
    "pause-long": of_pause,
    "sleep": of_stage_fault(STALLED),
    "exception": of_stage_fault(FAILED),
    "allocation": of_stage_fault(FAILED),
    "batch": of_batch,
    "full-disk": lambda t, s, p: goes_on(lost_logs=True),
    "closed-output": lambda t, s, p: goes_on(),
    "cut-off": of_cut,
    "slow-link": lambda t, s, p: goes_on(),
    "ctrl-c": of_stop_signal,
    "launcher-killed": lambda t, s, p: ends(AT_ONCE, silent=set(range(t.ranks))),
}
