"""A small run whose times follow from a plain loop, for the checks of the writers."""

import plans
import recording

MS = 1_000_000


def make(schedule="1F1B", positions=3, replicas=2, chunks=1, micro_batches=4, steps=2, ahead=True):
    """Jobs take some milliseconds, by their letter, stage and micro-batch. Messages take 0.3 ms.
    With replicas gradients are summed, then a norm; the first ranks load data for 1 ms before each
    step; all ranks save for 5 ms behind the first step."""
    world, last_stage = positions * replicas, positions * chunks - 1
    case = {
        "schedule": schedule,
        "positions": positions,
        "replicas": replicas,
        "chunks": chunks,
        "micro_batches": micro_batches,
        "steps": steps,
        "faults": [],
        "records_loading": True,
        "records_checkpoints": True,
    }
    plan = [
        plans.order(schedule, positions, position, micro_batches, chunks)
        for position in range(positions)
    ]
    jobs = [[] for _ in range(world)]
    messages, collectives, links = [], [], {}
    free = [0] * world
    for step in range(steps):
        sent = {}
        _load(jobs, free, step, replicas)
        waiting = [list(plan[rank // replicas]) for rank in range(world)]
        while any(waiting):
            for rank, left in enumerate(waiting):
                while left and _run(left, rank, step, jobs, free, sent, links, case, ahead):
                    pass
        messages += [each for each in sent.values()]
        collectives += _finish(jobs, free, step, replicas, positions, chunks, world)
    messages.sort(key=lambda message: (message.begin, message.end))
    clocks = [rank * 1234 for rank in range(world)]
    assert last_stage > 0
    return recording.Recording(case, jobs, messages, collectives, clocks)


def _load(jobs, free, step, replicas):
    for rank in range(replicas):
        begin = free[rank]
        jobs[rank].append(recording.Job("data", step, 0, 0, 0, begin, begin, begin + MS))
        free[rank] += MS


def _run(left, rank, step, jobs, free, sent, links, case, ahead):
    """Runs the first of the jobs that are left, if what it needs was sent."""
    p, d, last_stage = case["positions"], case["replicas"], case["positions"] * case["chunks"] - 1
    letter, stage, micro_batch = left[0]
    replica, ready = rank % d, free[rank]
    before = jobs[rank][-1] if jobs[rank] else None
    need = plans.needs(left[0], last_stage)
    if need and need[1] % p != stage % p:
        message = sent.get((need[0], stage, micro_batch, replica))
        if message is None:
            return False
        message.received = before.begin if ahead and before and before.letter in "FBIW" else ready
        link = (message.source, message.target, message.direction)
        message.begin = max(message.sent, message.received, links.get(link, 0))
        message.end = links[link] = message.begin + 300_000
        ready = max(ready, message.end)
    begin = ready + 20_000
    length = {"F": 4, "B": 8, "I": 5, "W": 3}[letter] * MS + stage * 100_000 + micro_batch * 7_001
    launched = max(before.begin if before else 0, begin - 2 * MS)
    jobs[rank].append(
        recording.Job(letter, step, stage, stage // p, micro_batch, launched, begin, begin + length)
    )
    free[rank] = begin + length
    give = plans.gives(left[0], last_stage)
    if give and give[1] % p != stage % p:
        target = give[1] % p * d + replica
        sent[(give[0], give[1], micro_batch, replica)] = recording.Message(
            give[0], step, micro_batch, stage, give[1], rank, target, free[rank], 0, 0, 0, 1 << 24
        )
    left.pop(0)
    return True


def _finish(jobs, free, step, replicas, positions, chunks, world):
    collectives = []
    for stage in range(positions * chunks) if replicas > 1 else ():
        first = stage % positions * replicas
        ranks = tuple(range(first, first + replicas))
        ends = [
            max(job.end for job in jobs[rank] if job.stage == stage and job.step == step)
            for rank in ranks
        ]
        came = dict(zip(ranks, ends))
        if stage >= positions:  # behind the sum of the chunk before
            came = {rank: max(end, free[rank]) for rank, end in came.items()}
        end = max(came.values()) + 2 * MS
        collectives.append(
            recording.Collective("all_reduce", "gradients", step, stage, ranks, came, end, 1 << 26)
        )
        for rank in ranks:
            free[rank] = max(free[rank], end)
    norm = recording.Collective(
        "all_reduce", "norm", step, -1, tuple(range(world)), dict(enumerate(free)), 0, 4
    )
    norm.end = max(free) + 50_000
    for rank in range(world):
        position, end = rank // replicas, norm.end + 3 * MS
        jobs[rank].append(recording.Job("optimizer", step, position, 0, 0, norm.end, norm.end, end))
        if step == 0:
            saved = end + 5 * MS
            jobs[rank].append(recording.Job("checkpoint", step, position, 0, 0, end, end, saved))
            end = saved
        free[rank] = end
    return collectives + [norm]
