"""A trial: a training, a fault and its moment, all drawn from a seed."""

import dataclasses
import random

BYTES_OF_ACTION = 150  # in a log, with its messages; rather too many

# Of each fault: how it reads, and whether it makes sense for a training.
FAULTS = {
    "kill": ("kill -9", lambda t: t.transport == "gloo"),
    "stop": ("SIGSTOP for good", lambda t: t.transport == "gloo"),
    "pause-short": ("SIGSTOP, SIGCONT after 0.1 to 6 s", lambda t: True),
    "pause-long": ("SIGSTOP, SIGCONT after 10 to 30 s", lambda t: True),
    "sleep": ("a sleep in a stage's own code", lambda t: True),
    "exception": ("an exception in a stage's own code", lambda t: True),
    "batch": ("a batch function that blocks", lambda t: True),
    "allocation": ("an allocation that fails", lambda t: True),
    "full-disk": ("a full log disk", lambda t: not t.hosts),
    "closed-output": ("stdout and stderr closed", lambda t: True),
    "cut-off": ("a host cut off the network", lambda t: t.hosts),
    "slow-link": ("a host's link slowed to 1 Mbit/s", lambda t: t.hosts),
    "ctrl-c": ("Ctrl-C", lambda t: True),
    "launcher-killed": ("the launcher killed", lambda t: t.launcher),
}
# Runs that end anyway need not leave time before the fault, so most of them are busy.
ENDING = {"kill", "stop", "exception", "batch", "allocation", "cut-off", "ctrl-c", "launcher-killed"}
IN_STAGES = {"sleep": "sleep", "exception": "throw", "allocation": "allocate"}
HOSTS = 4
SHIFTS = (0.0, 0.02, -3.0, 100.0)  # of the hosts' wall clocks, in seconds
UPTIMES = (0, 1000, 5, 2_000_000)  # that hosts' steady clocks are ahead, in seconds


@dataclasses.dataclass
class Settings:
    """What holds for all trials of a call."""
    step_timeout: float = 5.0
    silence: float = 8.0
    hosts: str = "mixed"  # none, four
    only: str = ""
    most_ranks: int = 16
    slower: int = 1  # times the usual seconds that a run may take

    @property
    def limit(self):
        """Seconds that a stopped rank has."""
        return min(self.step_timeout, self.silence)


@dataclasses.dataclass
class Trial:
    seed: str
    number: int
    fault: str = ""
    # The training
    hosts: int = 0  # 0: the machine itself
    transport: str = "gloo"
    launcher: bool = False  # pipe-run; else each rank finds its place in its environment
    ranks: int = 0
    schedule: str = ""
    micro_batches: int = 0
    overlap: bool = True
    model: str = ""
    layers: int = 0
    partition: list = None  # None: even
    width: int = 0
    rows: int = 0
    steps: int = 0
    pace_ms: float = 0  # a step takes at least that long
    # Its network, between hosts
    delay_ms: float = 0
    loss: float = 0
    clocks: bool = False  # differ
    # The fault
    rank: int = 0
    host: int = 0
    seconds: float = 0  # that it lasts
    delay: float = 0    # seconds after all ranks train
    step: int = 0       # or in this step, in a function of the training
    call: int = 0
    variant: str = ""

    @property
    def is_within(self):
        """Whether the training makes the fault itself."""
        return self.fault in IN_STAGES or self.fault == "batch" or self.variant == "inside"

    @property
    def ranks_a_host(self):
        return self.ranks // self.hosts if self.hosts else self.ranks

    def ranks_of_host(self, host):
        return list(range(host * self.ranks_a_host, (host + 1) * self.ranks_a_host))

    @property
    def planted(self):
        """The value of PIPETRACE_FAULT."""
        if not self.is_within:
            return ""
        if self.fault == "batch":
            kind = "block-batch"
        elif self.fault == "closed-output":
            kind = "close-forward"
        else:
            kind = f"{IN_STAGES[self.fault]}-{self.variant}"
        return f"{kind} {self.rank} {self.step} {self.seconds:.2f} {self.call}"

    def disk_size(self):
        """Of the log disk that gets full, in bytes: what logs have at their beginning, and more."""
        return (200 + 60 * self.ranks) * 1024

    def text(self):
        how = "in one process" if self.transport == "in-process" else \
            f"on {self.hosts} hosts" if self.hosts else \
            "by pipe-run" if self.launcher else "by environment"
        network = f", {self.delay_ms:g} ms, {100 * self.loss:g} % loss" if self.hosts else ""
        network += ", clocks differ" if self.clocks else ""
        overlap = "" if self.overlap else ", no overlap"
        return (f"{self.ranks} ranks {how}{network}, {self.schedule}, {self.micro_batches} "
                f"micro-batches, {self.model}{overlap}")

    def fault_text(self):
        where = f"rank {self.rank}"
        if self.fault in ("cut-off", "slow-link"):
            where = f"host h{self.host}"
        elif self.fault in ("full-disk", "launcher-killed") or self.variant in ("reader", "all"):
            where = ""
        lasts = f"{self.seconds:.1f} s" if self.seconds else ""
        more = " ".join(part for part in (where, self.variant, lasts) if part)
        return self.fault + (f" ({more})" if more else "")


def draw(seed, number, settings, plans):
    """Trial `number` of a seed: always the same one, for the same settings."""
    dice = random.Random(f"{seed} {number}")
    trial = Trial(seed, number)
    place = dice.random()
    on_hosts = place < 0.5 if settings.hosts == "mixed" else settings.hosts == "four"
    if settings.only:
        on_hosts = settings.only in ("cut-off", "slow-link") or on_hosts
        on_hosts = on_hosts and settings.only not in ("full-disk", "launcher-killed")
    trial.hosts = HOSTS if on_hosts else 0
    trial.fault = settings.only or fault_in_turn(seed, number, on_hosts)
    while True:
        trial.transport, trial.launcher = ("gloo", False) if on_hosts else dice.choice(
            [("in-process", False), ("gloo", True), ("gloo", False)])
        if FAULTS[trial.fault][1](trial):
            break
    plan = draw_training(trial, settings, plans, dice)
    draw_fault(trial, settings, plan, dice)
    return trial, plan


def fault_in_turn(seed, number, on_hosts):
    """Each fault comes once in as many trials as there are faults, in a random order."""
    sample = Trial(seed, number, hosts=HOSTS if on_hosts else 0)
    samples = [sample, dataclasses.replace(sample, launcher=not on_hosts)]
    faults = [name for name, (_, fits) in FAULTS.items() if any(fits(one) for one in samples)]
    turn, place = divmod(number, len(faults))
    random.Random(f"{seed} turn {turn} {on_hosts}").shuffle(faults)
    return faults[place]


def draw_training(trial, settings, plans, dice):
    plan = None
    while plan is None:
        trial.schedule = dice.choice(plans.schedules())
        if trial.hosts:
            sizes = range(trial.hosts, max(settings.most_ranks, trial.hosts) + 1, trial.hosts)
        else:
            sizes = range(2, settings.most_ranks + 1)
        trial.ranks = dice.choice(list(sizes))
        trial.micro_batches = dice.choice([trial.ranks, 2 * trial.ranks, trial.ranks + 1, 4, 7, 8])
        plan = plans.find(trial.schedule, trial.ranks, trial.micro_batches)
    # Other plans would get stuck: the runtime refuses them.
    may_block = trial.transport == "gloo" and trial.schedule in ("GPipe", "FThenB")
    trial.overlap = not (may_block and dice.random() < 0.5)
    trial.model = dice.choice(["layers", "layers", "transformer"])
    trial.layers = plan.stage_count + dice.randrange(0, plan.stage_count + 1)
    if dice.random() < 0.3:
        cuts = sorted(dice.sample(range(1, trial.layers), plan.stage_count - 1))
        trial.partition = [b - a for a, b in zip([0, *cuts], [*cuts, trial.layers])]
    trial.width = dice.choice([8, 32, 128]) if trial.model == "layers" else dice.choice([8, 32])
    trial.rows = trial.micro_batches * dice.choice([1, 2, 4]) + dice.choice([0, 0, 1])
    if trial.hosts:
        trial.delay_ms = dice.choice([0, 0, 1, 5])
        trial.loss = dice.choice([0, 0, 0.001, 0.01])
        trial.clocks = dice.random() < 0.5
    return plan


def draw_fault(trial, settings, plan, dice):
    trial.rank = dice.randrange(trial.ranks)
    trial.host = dice.randrange(trial.hosts or 1)
    limit = settings.limit
    if trial.fault == "pause-short":
        trial.seconds = dice.uniform(0.1, 1.2 * limit)
    elif trial.fault == "pause-long":
        trial.seconds = dice.uniform(2 * limit, 6 * limit)
    elif trial.fault == "sleep":
        short, long = (0.2, 0.7), (2, 4)
        trial.seconds = settings.step_timeout * dice.uniform(*dice.choice([short, long]))
    elif trial.fault == "batch":
        trial.rank = dice.choice(plan.ranks_that_load())
    if trial.fault in IN_STAGES:
        trial.variant = dice.choice(["forward", "backward"])
    elif trial.fault == "closed-output":
        trial.variant = dice.choice(["reader", "inside"])
    elif trial.fault == "ctrl-c" and trial.transport == "gloo" and not trial.launcher:
        trial.variant = dice.choice(["one", "all"])
    trial.call = dice.randrange(trial.micro_batches)
    trial.pace_ms = 0 if trial.fault in ENDING and dice.random() < 0.7 else 50
    trial.steps = dice.randrange(16, 30)
    trial.step = dice.randrange(2, trial.steps - 6)
    if trial.fault == "full-disk":  # so many steps that the logs would be three times as long
        trial.pace_ms = 0
        actions = sum(len(row) for row in plan.rows)
        trial.steps = max(trial.steps, 3 * trial.disk_size() // (BYTES_OF_ACTION * actions))
    # A step that takes its time leaves time for the fault before the end.
    trial.delay = dice.uniform(0, 0.03 * (trial.steps - 4))
