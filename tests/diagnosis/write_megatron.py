"""Writes runs as MegatronApp's tracer for Megatron-LM writes them: a JSON file for each rank,
`benchmark-data-<replica>-pipeline-<position>-tensor-0.json`.

    write(recording, folder, leave_out=())
    write_megatron.py --check       writes small runs, reads them back and compares them

A file is an array of records, indented by two, byte by byte as json.dump writes it. An iteration
(a step) is `iteration` with `ph` B and `pad_before`, the forwards and backwards in their order, and
`iteration` with `ph` E, `rel_ts`, `duration_wall` and `duration_cuda`. A job is two records: B with
its name and `rel_ts`, E with `microbatch`, `model_chunk` and `pp_rank` as well. `rel_ts` is in
whole nanoseconds since the iteration began. The tracer has the times of the GPU: of events that
stand in its stream between the work.

The shape is that of the files of a real run of 4 stages with 4 chunks each, 8 micro-batches and 20
iterations, the names of files are those of the tracer.

An iteration begins at once on all ranks, as the script of MegatronApp takes it: with the first
thing that any rank does in this step. It ends when the next one begins, or with the last thing that
a rank does where that is earlier; `pad_before` is what lies between. So a step on the ranks' common
clock comes out of the files to the nanosecond.

What this format lacks:

    what                                how it looks
    messages, collectives               gaps
    the optimizer, loading, saving      gaps; the iteration is longer than its jobs
    when a job was asked for            -
    halves of backwards (I, W)          both are called backward, with the same micro-batch
    stages                              chunk and `pp_rank` instead
    step numbers                        the order of iterations
    clocks                              all times are since the iteration's begin
"""

import json
import os
import sys

NAMES = {"F": "forward", "B": "backward", "I": "backward", "W": "backward"}


def write(recording, folder, leave_out=()):
    os.makedirs(folder, exist_ok=True)
    replicas = recording.case["replicas"]
    begins, ends = iterations(recording)
    for rank in range(recording.world):
        if rank in leave_out:
            continue
        position, replica = divmod(rank, replicas)
        name = f"benchmark-data-{replica}-pipeline-{position}-tensor-0.json"
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text_of(recording.jobs[rank], position, begins, ends))


def iterations(recording):
    """When they begin and end, on all ranks at once."""
    steps = 1 + max(job.step for jobs in recording.jobs for job in jobs)
    begins, ends = [1 << 62] * steps, [0] * steps
    for jobs in recording.jobs:
        for job in jobs:
            begins[job.step] = min(begins[job.step], job.begin)
            ends[job.step] = max(ends[job.step], job.end)
    return begins, [min(end, begin) for end, begin in zip(ends, begins[1:] + ends[-1:])]


def entry(*fields):
    """As json.dump writes an object in an array, with an indent of two."""
    return "  {\n" + ",\n".join("    " + field for field in fields) + "\n  }"


def text_of(jobs, position, begins, ends):
    entries, step, last = [], None, 0
    for job in jobs + [None]:
        if job is None or job.step != step:
            if step is not None:
                entries.append(end_of_iteration(begins[step], ends[step], last))
            if job is None:
                break
            step = job.step
            pad = begins[step] - ends[step - 1] if step else 0
            entries.append(entry('"name": "iteration"', '"ph": "B"', f'"pad_before": {pad}'))
        last = job.end - begins[step]
        if job.letter not in NAMES:
            continue
        name = NAMES[job.letter]
        entries.append(
            '  {\n    "name": "%s",\n    "ph": "B",\n    "rel_ts": %d\n  },\n'
            '  {\n    "microbatch": %d,\n    "model_chunk": %d,\n    "pp_rank": %d,\n'
            '    "name": "%s",\n    "ph": "E",\n    "rel_ts": %d\n  }'
            % (
                name,
                job.begin - begins[step],
                job.micro_batch,
                job.chunk,
                position,
                name,
                last,
            )
        )
    return "[\n" + ",\n".join(entries) + "\n]"


def end_of_iteration(begin, end, last):
    return entry(
        '"name": "iteration"',
        '"ph": "E"',
        f'"rel_ts": {last}',
        f'"duration_wall": {end - begin}',
        f'"duration_cuda": {last}',
    )


# Checks -------------------------------------------------------------------------------------------


def read_back(path):
    """The jobs of a file as (name, step, chunk, micro-batch, begin, end), with times since the
    first iteration's begin."""
    with open(path, encoding="ascii") as file:
        rows = json.load(file)
    found, step, begin, opened = [], -1, 0, None
    for row in rows:
        if row["name"] == "iteration" and row["ph"] == "B":
            step += 1
            begin += row["pad_before"]
        elif row["name"] == "iteration":
            begin += row["duration_wall"]
        elif row["ph"] == "B":
            opened = row["rel_ts"]
        else:
            times = (begin + opened, begin + row["rel_ts"])
            found.append((row["name"], step, row["model_chunk"], row["microbatch"]) + times)
    return found


def check():
    import tempfile

    import small_run

    for schedule, options in (
        ("1F1B", {}),
        ("Interleaved1F1B", {"positions": 2, "chunks": 2}),
        ("ZBH1", {"replicas": 1}),
    ):
        run = small_run.make(schedule, **options)
        with tempfile.TemporaryDirectory() as folder:
            write(run, folder, leave_out=(1,))
            names = os.listdir(folder)
            assert len(names) == run.world - 1, names
            for rank in range(run.world):
                position, replica = divmod(rank, run.case["replicas"])
                name = f"benchmark-data-{replica}-pipeline-{position}-tensor-0.json"
                assert (name in names) == (rank != 1)
                if rank == 1:
                    continue
                jobs = [
                    (NAMES[j.letter], j.step, j.chunk, j.micro_batch, j.begin, j.end)
                    for j in run.jobs[rank]
                    if j.letter in NAMES
                ]
                assert read_back(os.path.join(folder, name)) == jobs, (schedule, rank)
        print("%s: jobs of %d ranks are exact" % (schedule, run.world - 1))


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit("usage: write_megatron.py --check")
    check()
