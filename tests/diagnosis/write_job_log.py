"""Writes a run as job logs: `workerlog.<rank>`, the format of docs/log-format.md.

What the files hold: every job with stage, micro-batch and step; both ends of every message, each
from its posting to its end (with lines, from where its line is free); sums of gradients and the
norm; loading, and checkpoints where the case records them. Where clocks are apart, lines compare
them every step. `lr` opens a step as soon as its rank is free, and takes no time.
"""

import os

BASE_NS = 1_750_000_000_000_000_000
TYPES = {
    "F": "forward",
    "B": "backward",
    "I": "backward_input",
    "W": "backward_weight",
    "data": "data",
    "optimizer": "optimizer",
    "checkpoint": "checkpoint",
}
SCHEDULE_NAMES = {"ZBH1": "ZB-H1", "FThenB": "GPipe"}
HEAD = "I0615 15:06:40.000000 4711 log_writer.cpp:1] Profiler "
BOUND_NS = 2000


def write(recording, folder, leave_out=()):
    os.makedirs(folder, exist_ok=True)
    numbers = [_numbers(jobs) for jobs in recording.jobs]
    transfers = _transfers(recording, numbers)
    for rank in range(recording.world):
        if rank not in leave_out:
            path = os.path.join(folder, "workerlog.%d" % rank)
            with open(path, "w", encoding="utf-8") as file:
                file.write(_log(recording, rank, transfers[rank]))


def _numbers(jobs):
    return {(job.letter, job.step, job.stage, job.micro_batch): n for n, job in enumerate(jobs)}


def _time(ns):
    return "%d.%06d" % divmod(ns + BASE_NS, 1_000_000)


def _log(recording, rank, transfers):
    case = recording.case
    shift = recording.clocks[rank]
    lines = [(-(1 << 62), _meta(case, rank))]
    step, ended = None, shift
    for number, job in enumerate(recording.jobs[rank]):
        begin, end = job.begin + shift, job.end + shift
        free, ended = ended, end
        if job.letter == "checkpoint" and not case["records_checkpoints"]:
            continue
        if job.letter == "data" and not case["records_loading"]:
            continue
        if job.step != step and job.letter != "data":
            step = job.step
            lines.append((free, _job("lr", 0, free, free, 1_000_000 + step, step, "")))
        if job.letter in "FBIW":
            name = "%d%s%d" % (job.stage, job.letter, job.micro_batch)
            where = ", stage = %d, chunk = %d" % (job.stage, job.chunk)
            more = where + ", stream = compute, action = " + name
        else:
            more = ", stream = compute"
        text = _job(TYPES[job.letter], job.micro_batch, begin, end, number, job.step, more)
        lines.append((begin, text))
        if any(case["clocks"]) and job.letter == "optimizer":
            offset = recording.clocks[0] - shift if rank else 0
            lines.append(
                (
                    end,
                    "Clock: time = %s, offset_ns = %d, bound_ns = %d"
                    % (_time(end), offset, BOUND_NS),
                )
            )
    lines += [(begin + shift, text(shift)) for begin, text in transfers]
    lines.sort(key=lambda each: each[0])
    written = sum(1 for _, text in lines if text.startswith(("Info", "Stream")))
    lines.append((1 << 62, "End: written = %d, dropped = 0, errors = 0, late_starts = 0" % written))
    return "".join(HEAD + text + "\n" for _, text in lines)


def _meta(case, rank):
    name = SCHEDULE_NAMES.get(case["schedule"], case["schedule"])
    text = (
        "Meta: version = 1, rank = %d, world_size = %d, host = node%d, device = 0, num_stages = %d, "
        "num_chunks = %d, num_micro_batches = %d, schedule = %s, data_parallel_index = %d, clock = tsc"
    ) % (
        rank,
        case["positions"] * case["replicas"],
        rank // 8,
        case["positions"] * case["chunks"],
        case["chunks"],
        case["micro_batches"],
        name,
        rank % case["replicas"],
    )
    return text


def _job(kind, micro_batch, begin, end, number, step, more):
    return (
        "Info: Job (%d), type = %s, micro_batch_id = %d, job_start_time = %s, job_end_time = %s, "
        "id = %d, step = %d%s"
    ) % (micro_batch, kind, micro_batch, _time(begin), _time(end), number, step, more)


def _transfers(recording, numbers):
    """Of each rank (true begin, text by clock) of messages and collectives."""
    result = [[] for _ in range(recording.world)]
    has_lines = any(fault["kind"] == "messages_in_line" for fault in recording.case["faults"])
    free = [0] * recording.world
    positions = recording.case["positions"]
    for message in recording.messages:
        word = "forward" if message.direction == "F" else "backward"
        source_letter = "F" if message.direction == "F" else None
        ends = (
            ("send_", message.source, message.target, message.sent, message.stage),
            ("recv_", message.target, message.source, message.received, message.to_stage),
        )
        for what, rank, peer, posted, stage in ends:
            begin = posted
            stream = what + word
            if has_lines:
                begin, stream = max(posted, free[rank]), "messages"
                free[rank] = message.end
            letters = [source_letter] if source_letter else ["B", "I"]
            number = next(
                numbers[rank][key]
                for key in ((x, message.step, stage, message.micro_batch) for x in letters)
                if key in numbers[rank]
            )
            text = _transfer(message, what + word, begin, stream, peer, number, stage, positions)
            result[rank].append((begin, text))
    for collective in recording.collectives:
        for rank in collective.ranks:
            if len(collective.ranks) > 1:
                result[rank].append(
                    (collective.came[rank], _collective(collective, rank, positions))
                )
    return result


def _transfer(message, kind, begin, stream, peer, number, stage, positions):
    def text(shift):
        return (
            "Stream: type = %s, micro_batch_id = %d, start_time = %s, end_time = %s, stream = %s, "
            "peer = %d, bytes = %d, job = %d, step = %d, stage = %d, chunk = %d"
        ) % (
            kind,
            message.micro_batch,
            _time(begin + shift),
            _time(message.end + shift),
            stream,
            peer,
            message.size,
            number,
            message.step,
            stage,
            stage // positions,
        )

    return text


def _collective(collective, rank, positions):
    def text(shift):
        where = ""
        if collective.stage >= 0:
            where = ", stage = %d, chunk = %d" % (collective.stage, collective.stage // positions)
        return (
            "Stream: type = all_reduce, micro_batch_id = 0, start_time = %s, end_time = %s, "
            'stream = %s, members = "%s", bytes = %d, step = %d%s'
        ) % (
            _time(collective.came[rank] + shift),
            _time(collective.end + shift),
            collective.use,
            " ".join(map(str, collective.ranks)),
            collective.size,
            collective.step,
            where,
        )

    return text
