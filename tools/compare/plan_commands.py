"""Random `pipe-trace plan` commands: every schedule, with any ranks, times and outputs."""

from .case import Case

OUTPUTS = [["-o", "p.svg"], ["-o", "p.json"], ["-o", "logs/"], ["--csv", "p.csv"], ["--json"],
           ["--job-list"], ["--check"], ["--check", "--buffers", "blocking"],
           ["--check", "--buffers", "2"], ["--csv", "-"], ["--costs-out", "costs.json"],
           ["--width", "80"], ["--steps", "3", "-o", "p.json"], ["-o", "a.svg", "-o", "b.json"],
           ["--steps", "2", "-o", "logs/", "-o", "p.svg", "--csv", "p.csv"],
           ["--transfers", "in-time", "--comm-streams", "rank", "--json"],
           ["--transfers", "torch", "--comm-streams", "edge", "-o", "p.json"], ["--compare", "--json"],
           ["--credits", "2", "--steps", "3", "--json"], ["--credits", "1", "--check"],
           ["--job-list", "--backward-parts", "2", "--forward-parts", "2", "--transfer-jobs"]]
BAD_CELLS = ["", "0F", "9B9", "0F0", "0X1", "(0F0;0B0)OVERLAP_F_B", "\"", "1I0"]


def times(random, stages):
    """Options that say how long jobs take."""
    def cost(low, high):
        if random.random() < 0.2:
            return ",".join(f"{random.uniform(low, high):.3f}" for _ in range(stages))
        return f"{random.uniform(low, high):.3f}"
    chosen = []
    for name, low, high in [("--forward-ms", 1, 20), ("--backward-ms", 2, 40), ("--fused-ms", 2, 50)]:
        if random.random() < 0.25:
            chosen += [name, cost(low, high)]
    for name, most in [("--transfer-ms", 2), ("--lr-ms", 1), ("--optimizer-ms", 5)]:
        if random.random() < 0.25:
            chosen += [name, f"{random.uniform(0, most):.2f}"]
    if random.random() < 0.3:
        chosen += ["--activation-gb", f"{random.uniform(1, 2):.2f}"]
        for name, low, high in [("--weights-gb", 0, 9), ("--limit", 1, 50),
                                ("--freed-by-input-gb", 0, 1)]:
            if random.random() < 0.4:
                chosen += [name, f"{random.uniform(low, high):.2f}"]
    if "--backward-ms" not in chosen and random.random() < 0.2:
        chosen += ["--backward-input-ms", cost(1, 20), "--backward-weight-ms", cost(1, 20)]
    if random.random() < 0.15:
        chosen += ["--message-mb", "33.5", "--bandwidth-gbs", "12"]
    return chosen


def random_plans(random, schedules, how_many):
    cases = []
    for n in range(how_many):
        schedule = schedules[n % len(schedules)]
        small = schedule == "auto"
        stages = random.randint(1, 3 if small else 8)
        chunks = ["--chunks", str(random.randint(1, 3))] if random.random() < 0.1 else []
        transfers = ["--transfers", str(random.randint(0, 2))] if random.random() < 0.25 else []
        args = ["plan", "--schedule", schedule, "--stages", str(stages), "--micro-batches",
                str(random.randint(1, 4 if small else 20)), *chunks, *transfers,
                *times(random, stages), *random.choice([[], *OUTPUTS])]
        cases.append(Case("plan", f"random plan {n} ({schedule})", "pipe-trace", args))
    return cases


def file_plans(source, path, random, how_many=None):
    """Cases of a schedule file: drawn, checked and written in all ways, or in some."""
    outputs = [[], *OUTPUTS]
    chosen = outputs if how_many is None else random.sample(outputs, how_many)
    return [Case("plan file", source, "pipe-trace", ["plan", "--schedule-file", path, *output])
            for output in chosen]


def damaged(random, text):
    """A schedule file with a few cells changed, swapped or left out."""
    rows = [row.split(",") for row in text.splitlines()]
    for _ in range(random.randint(1, 3)):
        row = random.choice(rows)
        at = random.randrange(len(row))
        what = random.choice(["drop", "swap", "bad", "row"])
        if what == "drop" and len(row) > 1:
            del row[at]
        elif what == "swap":
            row[at], row[0] = row[0], row[at]
        elif what == "row" and len(rows) > 1:
            rows.remove(row)
        else:
            row[at] = random.choice(BAD_CELLS)
    return "\n".join(",".join(row) for row in rows) + "\n"
