"""Ways in which a sound run is recorded wrongly. Each changes the files and returns what remains
true: a function that says of a job (rank, step, begin, end) whether it is still there, and None
where all of them are, or where no number is right any more."""

MS = 1_000_000


def all_records(file):
    return file.records


def change(records, new):
    for record in records:
        record.begin, record.end = new(record)


def some(random, file, share):
    """Some records of the file; of jobs where there are any, as their times make the figures."""
    records = [record for record in file.records if record.is_job] or file.records
    return random.sample(records, max(1, int(len(records) * share)))


def span(files):
    return (min(r.begin for f in files for r in f.records),
            max(r.end for f in files for r in f.records))


def any_file(random, files):
    return random.choice(files)


def clock(random, files):
    begin, end = span(files)
    by = int((end - begin) * random.choice([0.02, 0.1, 0.5, 3]) * random.choice([-1, 1]))
    change(any_file(random, files).records, lambda r: (r.begin + by, r.end + by))


def drift(random, files):
    begin, _ = span(files)
    rate = 1 + random.choice([-1, 1]) * random.choice([0.001, 0.02])
    change(any_file(random, files).records,
           lambda r: (begin + int((r.begin - begin) * rate), begin + int((r.end - begin) * rate)))


def unit(random, files):
    by = random.choice([0.001, 1000])
    change(any_file(random, files).records, lambda r: (int(r.begin * by), int(r.end * by)))


def unit_of_lengths(random, files):
    by = random.choice([0.001, 1000])
    change(any_file(random, files).records,
           lambda r: (r.begin, r.begin + int((r.end - r.begin) * by)))


def lost_file(random, files):
    lost = files.pop(random.randrange(len(files)))
    return lambda job: job.rank != lost.rank


def swapped_ranks(random, files):
    one, other = random.sample(files, 2)
    a, b = one.rank, other.rank
    one.set_rank(b)
    other.set_rank(a)


def doubled_events(random, files):
    file = any_file(random, files)
    file.records += [record.copy() for record in file.records]


def doubled_file(random, files):
    """A rank's file under the name of another one, in place of that one's."""
    one, other = random.sample(files, 2)
    other.records = [record.copy() for record in one.records]


def cut_bytes(random, files):
    file, share = any_file(random, files), random.uniform(0.3, 0.9)
    whole = file.data()
    file.data = lambda: whole[:int(len(whole) * share)]


def cut_in_time(random, files):
    file = any_file(random, files)
    begin, end = span([file])
    at = begin + int((end - begin) * random.uniform(0.3, 0.95))
    file.records = [record for record in file.records if record.end <= at]


def negative_lengths(random, files):
    change(some(random, any_file(random, files), 0.2), lambda r: (r.end, r.begin))


def zero_begins(random, files):
    """The begin is lost, the length is not."""
    change(some(random, any_file(random, files), 0.2), lambda r: (0, r.end - r.begin))


def overruns(random, files):
    change(some(random, any_file(random, files), 0.3),
           lambda r: (r.begin, r.end + (r.end - r.begin)))


def lost_jobs(random, files):
    file = any_file(random, files)
    lost = {id(record) for record in some(random, file, 0.15)}
    file.records = [record for record in file.records if id(record) not in lost]


def lost_middle(random, files):
    """What a rank did for a while is lost, as when a buffer was full."""
    file = any_file(random, files)
    begin, end = span([file])
    low = begin + int((end - begin) * random.uniform(0.1, 0.6))
    high = low + int((end - begin) * 0.3)
    file.records = [r for r in file.records if r.end < low or r.begin > high]


def own_zeros(_, files):
    for file in files:
        zero = span([file])[0]
        change(file.records, lambda r, zero=zero: (r.begin - zero, r.end - zero))


def micro_batches(random, files):
    """Two micro-batches of a rank have each other's number."""
    file = any_file(random, files)
    numbers = sorted({r.micro_batch for r in file.records if r.micro_batch is not None})
    if len(numbers) < 2:
        return
    a, b = random.sample(numbers, 2)
    for record in file.records:
        number = record.micro_batch
        if number in (a, b):
            record.micro_batch = b if number == a else a


def shifted_steps(random, files):
    for record in any_file(random, files).records:
        if record.step is not None:
            record.step = record.step + 1


def wrong_stages(random, files):
    for record in any_file(random, files).records:
        if record.stage is not None:
            record.stage = record.stage + 1


def swapped_kinds(random, files):
    for record in any_file(random, files).records:
        if record.is_job and record.kind in "FB":
            record.kind = "B" if record.kind == "F" else "F"


def coarse_times(random, files):
    grain = random.choice([1, 10, 100]) * MS
    for file in files:
        change(file.records, lambda r: (r.begin // grain * grain, r.end // grain * grain))


def of_another_run(random, files):
    by = random.choice([-1, 1]) * 3600 * 1000 * MS
    change(any_file(random, files).records, lambda r: (r.begin + by, r.end + by))


def far_away(random, files):
    by = random.choice([60, 86_400]) * 1000 * MS
    change(some(random, any_file(random, files), 0.01), lambda r: (r.begin + by, r.end + by))


def longest_at_end(random, files):
    """The end of the last job is that of the recording."""
    file = any_file(random, files)
    begin, end = span(files)
    last = max((r for r in file.records if r.is_job), key=lambda r: r.end, default=None)
    if last is not None:
        last.end = end + (end - begin) // 2


BREAKAGES = {name.__name__.replace("_", " "): name for name in (
    clock, drift, unit, unit_of_lengths, lost_file, swapped_ranks, doubled_events, doubled_file,
    cut_bytes, cut_in_time, negative_lengths, zero_begins, overruns, lost_jobs, lost_middle,
    own_zeros, micro_batches, shifted_steps, wrong_stages, swapped_kinds, coarse_times,
    of_another_run, far_away, longest_at_end)}
