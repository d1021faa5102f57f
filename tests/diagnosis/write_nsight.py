"""Writes runs as `nsys export --type sqlite` writes them: `rank<R>.sqlite` for each rank.

    write(recording, folder, leave_out=(), annotated=True)
    write_nsight.py --check         writes small runs, reads them back and compares them

Each rank was recorded by an nsys of its own (`nsys profile --trace=cuda,nvtx -o rank$RANK`). Its
times are nanoseconds since its session began, on the clock of the rank;
TARGET_INFO_SESSION_START_TIME says when that was. Sessions begin at different times.
on_gpus.py says when the host launches what, and on which streams it runs.

Tables, with the columns of the "SQLite Schema Reference" in the manual of Nsight Systems:
- NVTX_EVENTS: with `annotated`, a range on the main thread around each action of the pipeline,
  named as torch.distributed.pipelining names it: jobs (`PP:1F3`) and the posts of messages
  (`PP:1SEND_F3`, `PP:1RECV_B3`); and one for the optimizer (`optimizer`). Always the ranges of NCCL
  in its own domain (`ncclSend`, `ncclRecv`, `ncclAllReduce`), without their payload.
- CUPTI_ACTIVITY_KIND_RUNTIME: the launches. Those of backwards are on autograd's thread.
- CUPTI_ACTIVITY_KIND_KERNEL: kernels of jobs on stream 7, messages and collectives on others.
- StringIds, ThreadNames, PROCESSES, TARGET_INFO_GPU, TARGET_INFO_SESSION_START_TIME.
The shape is that of the manual, and of recordings of torch that people have shown. Numbers of
threads, grids and names of kernels are made up.

What this format lacks:

    what                        how it looks
    steps                       optimizers stand between them
    peers and sizes of messages only by the names of ranges; payloads of NCCL are left out
    loading, saving             gaps
    when bytes began to move    the later begin of both kernels
    sequence numbers, operators -
    ranks                       by the files' names
"""

import os
import sqlite3
import sys

import on_gpus
from torch_trace import ADAM, BASE_NS, SEND_RECV, layers_of, name_of, name_of_message

TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,
    busLocation TEXT, isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER,
    memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT,
    luid INTEGER, chipName TEXT, cuDevice INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
    eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
    launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,
    gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
    blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
    staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
    localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
    gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
    sharedMemoryLimitConfig INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
    endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
    int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,
    floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
"""
RANGE, DOMAIN = 59, 75  # NVTX's types of events
NCCL_DOMAIN = 1
LAUNCH, LAUNCH_EX = "cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060"
NCCL_CALLS = {
    "send": ("ncclSend", SEND_RECV),
    "recv": ("ncclRecv", SEND_RECV),
    "all_reduce": (
        "ncclAllReduce",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ),
    "all_gather": (
        "ncclAllGather",
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ),
    "reduce_scatter": (
        "ncclReduceScatter",
        "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ),
}


def write(recording, folder, leave_out=(), annotated=True):
    os.makedirs(folder, exist_ok=True)
    messages, collectives = on_gpus.by_rank(recording)
    for rank in range(recording.world):
        if rank in leave_out:
            continue
        export = Export(recording, rank, annotated)
        for call in on_gpus.calls_of(recording, rank, messages[rank], collectives[rank]):
            export.add(call)
        export.save(os.path.join(folder, f"rank{rank}.sqlite"))


def session_of(rank):
    """When the rank's session began, before the recording's time 0, ns."""
    return 3_000_000_000 + rank * 17_000_123


class Export:
    def __init__(self, recording, rank, annotated):
        self.recording, self.rank, self.annotated = recording, rank, annotated
        self.shift = session_of(rank) + recording.clocks[rank]
        self.device = rank % 8
        pid = 40960 + 7 * rank
        self.pid = pid
        self.process = (1 << 48) + (pid << 24)
        self.main, self.autograd = self.process + pid, self.process + pid + 211
        self.strings, self.ranges, self.launches, self.kernels = {}, [], [], []
        self.correlation = 5000

    def id_of(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def range(self, text, begin, end):
        times = (begin + self.shift, end + self.shift)
        self.ranges.append(times + (text, self.main, None, 0))

    def range_of_nccl(self, text, begin, end):
        times = (begin + self.shift, end + self.shift)
        self.ranges.append(times + (None, self.main, self.id_of(text), NCCL_DOMAIN))

    def launch(self, kernel, name, thread, at, function=LAUNCH):
        stream, begin, end = kernel
        self.correlation += 1
        at += self.shift
        self.launches.append((at, at + 2000, thread, self.correlation, self.id_of(function)))
        short = name.partition("(ncclDev")[0] if name.startswith("nccl") else short_of(name)
        times = (begin + self.shift, end + self.shift)
        self.kernels.append(times + (stream, self.correlation, self.id_of(name), self.id_of(short)))

    def add(self, call):
        if call.kind == "job":
            self.job(call)
        elif call.kind in ("send", "recv"):
            if self.annotated:
                self.range(name_of_message(call.kind, call.of), call.begin, call.end)
            self.communication(call, *NCCL_CALLS[call.kind])
        elif call.kind == "collective":
            self.communication(call, *NCCL_CALLS[call.of.kind])

    def job(self, call):
        job = call.of
        if job.letter == "optimizer":
            name, kernels, thread = "optimizer", [ADAM] * len(call.kernels), self.main
        elif job.letter == "F":
            name, thread = name_of(job), self.main
            kernels = [layer[4] for layer in layers_of(job)]
        else:
            name, thread = name_of(job), self.autograd
            kernels = [layer[5] for layer in layers_of(job)[::-1]]
        if self.annotated:
            self.range(name, call.begin, call.end)
        for kernel, at, text in zip(call.kernels, call.launches, kernels):
            self.launch(kernel, text, thread, at)

    def communication(self, call, name, kernel):
        self.range_of_nccl(name, call.begin + 600, call.end - 600)
        self.launch(call.kernels[0], kernel, self.main, call.launches[0], LAUNCH_EX)

    def save(self, path):
        if os.path.exists(path):
            os.remove(path)
        database = sqlite3.connect(path, isolation_level=None)
        try:
            self.fill(database)
        finally:
            database.close()

    def fill(self, database):
        run = database.execute
        run("PRAGMA synchronous = OFF")
        run("PRAGMA journal_mode = OFF")
        run("BEGIN")
        for table in TABLES.split(";")[:-1]:
            run(table)
        python, autograd = self.id_of("python3"), self.id_of("pt_autograd_0")
        began = BASE_NS - session_of(self.rank)
        run("INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (?)", (began,))
        run("INSERT INTO PROCESSES VALUES (?, ?, 'python3')", (self.process, self.pid))
        run("INSERT INTO ThreadNames VALUES (?, 20, ?)", (python, self.main))
        run("INSERT INTO ThreadNames VALUES (?, 20, ?)", (autograd, self.autograd))
        run(
            "INSERT INTO TARGET_INFO_GPU (vmId, id, name, smCount, cuDevice) VALUES "
            f"(1, {self.device}, 'NVIDIA H100 80GB HBM3', 132, {self.device})"
        )
        run(
            "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId) VALUES "
            f"(?, {DOMAIN}, 'NCCL', ?, {NCCL_DOMAIN})",
            (self.shift - 1_000_000_000, self.main),
        )
        many = database.executemany
        many(
            "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId) "
            f"VALUES (?, ?, {RANGE}, ?, ?, ?, ?)",
            self.ranges,
        )
        many(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, "
            "correlationId, nameId, returnValue) VALUES (?, ?, 0, ?, ?, ?, 0)",
            self.launches,
        )
        many(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
            "correlationId, globalPid, demangledName, shortName, launchType, registersPerThread, "
            "gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, "
            "dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId) VALUES "
            f"(?, ?, {self.device}, 1, ?, ?, {self.process}, ?, ?, 1, 96, 16, 16, 1, 384, 1, 1, "
            "0, 82240, 0, 0, 1)",
            self.kernels,
        )
        many("INSERT INTO StringIds VALUES (?, ?)", [(i, s) for s, i in self.strings.items()])
        run("COMMIT")


def short_of(name):
    """The name of a kernel without its namespaces, and what it is a template of."""
    return name.partition("<")[0].rpartition("::")[2]


# Checks -------------------------------------------------------------------------------------------


def read_back(path):
    """Of an export: {name of a range: (begin of its first kernel, end of the last, sum of them)},
    and all kernels of NCCL as (begin, end, name of NCCL's range). Times are since the epoch."""
    database = sqlite3.connect(path)
    (began,) = database.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
    ranges = database.execute(
        "SELECT start, end, coalesce(text, value), domainId FROM NVTX_EVENTS "
        "LEFT JOIN StringIds ON textId = id WHERE eventType = 59 ORDER BY start, end DESC"
    ).fetchall()
    rows = database.execute(
        "SELECT r.start, k.start, k.end, value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN "
        "CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId "
        "JOIN StringIds s ON s.id = k.demangledName ORDER BY r.start"
    ).fetchall()
    database.close()
    jobs, messages, collectives = [], [], []
    for begin, end, name, domain in ranges:
        inside = [row for row in rows if begin <= row[0] < end]
        times = [began + time for row in inside for time in row[1:3]]
        if domain == NCCL_DOMAIN:
            continue
        if "SEND" in name or "RECV" in name:
            messages.append((name, times[0], times[1]))
        else:
            busy = sum(row[2] - row[1] for row in inside)
            jobs.append((name, times[0], times[-1], busy))
    for begin, end, name, domain in ranges:
        if domain == NCCL_DOMAIN and name == "ncclAllReduce":
            (row,) = [row for row in rows if begin <= row[0] < end]
            collectives.append((began + row[1], began + row[2]))
    return jobs, messages, collectives


def check():
    import tempfile

    import small_run

    for schedule, options in (
        ("1F1B", {}),
        ("Interleaved1F1B", {"positions": 2, "chunks": 2, "ahead": False}),
        ("ZBH1", {"replicas": 1}),
    ):
        run = small_run.make(schedule, **options)
        with tempfile.TemporaryDirectory() as folder:
            write(run, folder, leave_out=(1,))
            assert len(os.listdir(folder)) == run.world - 1
            count = [_check_rank(run, rank, folder) for rank in range(run.world) if rank != 1]
        print("%s: %d jobs and %d ends of messages are exact" % (schedule, *map(sum, zip(*count))))


def _check_rank(run, rank, folder):
    jobs, messages, collectives = read_back(os.path.join(folder, f"rank{rank}.sqlite"))
    epoch = BASE_NS + run.clocks[rank]
    expected = [
        (
            "optimizer" if job.letter == "optimizer" else name_of(job),
            job.begin + epoch,
            job.end + epoch,
            job.end - job.begin,
        )
        for job in run.jobs[rank]
        if job.letter in "FBIW" or job.letter == "optimizer"
    ]
    assert jobs == expected, (jobs, expected)
    ends = [
        (name_of_message("send" if message.source == rank else "recv", message), message)
        for message in run.messages
        if rank in (message.source, message.target)
    ]
    expected = sorted((name, message.end + epoch) for name, message in ends)
    assert sorted((name, end) for name, _, end in messages) == expected
    begins = sorted((name, begin) for name, begin, _ in messages)
    moved = sorted((name, message.begin + epoch) for name, message in ends)
    assert all(found <= begin for found, begin in zip(begins, moved))
    sums = sorted(
        (each.came[rank] + epoch, each.end + epoch)
        for each in run.collectives
        if rank in each.ranks
    )
    assert sorted(collectives) == sums
    return len(jobs), len(messages)


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit("usage: write_nsight.py --check")
    check()
