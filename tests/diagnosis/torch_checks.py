"""Reads traces of torch.profiler back, and compares them with the recording."""

import gzip
import json
import os

import on_gpus
from torch_on_cpus import CpuTrace
from torch_trace import BASE_NS, FIRST_NS, OPTIMIZER, name_of, name_of_message


def nanoseconds(text):
    """Microseconds with up to three digits behind the point, exactly."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))


def read_back(folder, rank):
    """The spans of a file, with times of the recording; and what stands around them."""
    path = os.path.join(folder, f"rank{rank}.pt.trace.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.loads(file.read(), parse_float=nanoseconds)
    assert trace["baseTimeNanoseconds"] == BASE_NS
    assert trace["distributedInfo"]["rank"] == rank
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for span in spans:
        span["begin"] = span["ts"] - FIRST_NS
        span["end"] = span["begin"] + span["dur"]
    return trace, spans


def check_gpu(run, rank, spans, annotated, found):
    shift = run.clocks[rank]
    launches = {
        span["args"]["correlation"]: span for span in spans if span["cat"] == "cuda_runtime"
    }
    kernels = [span for span in spans if span["cat"] == "kernel"]
    for kernel in kernels:
        at = launches[kernel["args"]["correlation"]]
        assert at["begin"] + on_gpus.LATENCY <= kernel["begin"], "a kernel before its launch"
    compute = sorted((k for k in kernels if k["tid"] == 7), key=lambda kernel: kernel["begin"])
    names = sorted(
        (span for span in spans if span["cat"] == "user_annotation"), key=lambda span: span["begin"]
    )

    def around(kernel):
        at = launches[kernel["args"]["correlation"]]["begin"]
        return [s["name"] for s in names if s["begin"] <= at < s["end"]]

    for job in run.jobs[rank]:
        if job.letter in ("data", "checkpoint"):
            continue
        own = [compute.pop(0) for _ in on_gpus.shares_of(job)]
        assert (own[0]["begin"], own[-1]["end"]) == (job.begin + shift, job.end + shift)
        assert all(a["end"] == b["begin"] for a, b in zip(own, own[1:])), "gaps in a job"
        assert sum(kernel["dur"] for kernel in own) == job.end - job.begin
        name = OPTIMIZER if job.letter == "optimizer" else name_of(job)
        for kernel in own:
            calls = around(kernel)
            assert f"ProfilerStep#{job.step}" in calls, (job, calls)
            assert (name in calls) == (annotated or job.letter == "optimizer")
    assert not compute
    sums = []
    for kernel in kernels:
        what = kernel["args"].get("Collective name")
        if what in ("send", "recv"):
            peer = kernel["args"]["Dst Rank" if what == "send" else "Src Rank"]
            ends = (rank, peer) if what == "send" else (peer, rank)
            name = [call for call in around(kernel) if call.startswith("PP:")]
            assert bool(name) == annotated
            times = (kernel["begin"] - shift, kernel["end"] - shift)
            found.setdefault((times[1],) + ends, []).append((times[0], name))
        elif what:
            sums.append((kernel["begin"] - shift, kernel["end"] - shift))
    expected = [(each.came[rank], each.end) for each in run.collectives if rank in each.ranks]
    assert sorted(sums) == sorted(expected)


def check_messages(run, found, annotated):
    for message in run.messages:
        kernels = found.pop((message.end, message.source, message.target))
        assert len(kernels) == 2
        assert max(begin for begin, _ in kernels) == message.begin, (message, kernels)
        if annotated:
            names = sorted(name for _, (name,) in kernels)
            assert names == sorted(name_of_message(kind, message) for kind in ("send", "recv"))
    assert not found


def check_cpu(run, rank, spans, annotated):
    shift, most = run.clocks[rank], 3 * CpuTrace.CALL
    for span in spans:
        span["begin"], span["end"] = span["begin"] - shift, span["end"] - shift
    operators = [
        span for span in spans if span["cat"] == "cpu_op" and not span["name"].startswith("c10d::")
    ]
    jobs = [job for job in run.jobs[rank] if job.letter not in ("data", "checkpoint")]
    names = {}
    for span in spans:
        if span["cat"] == "user_annotation":
            names.setdefault(span["name"], []).append(span)
    for job in jobs:
        own = [s for s in operators if s["begin"] >= job.begin and s["end"] <= job.end]
        assert 0 <= min(span["begin"] for span in own) - job.begin <= most
        assert max(span["end"] for span in own) == job.end
        operators = [span for span in operators if span["begin"] >= job.end]
        name = OPTIMIZER if job.letter == "optimizer" else name_of(job)
        assert any(span["end"] == job.end for span in names.get(name, ())) == (
            annotated or job.letter == "optimizer"
        )
    assert not operators, "operators outside of jobs"
    posted = {kind: [] for kind in ("send", "recv")}
    for message in run.messages:
        if message.source == rank:
            posted["send"].append(message.sent)
        elif message.target == rank:
            posted["recv"].append((message.end, message.received))
    sends = sorted(span["begin"] for span in names.get("gloo:send", ()))
    assert len(sends) == len(posted["send"])
    assert all(0 <= s - p <= most for s, p in zip(sends, sorted(posted["send"])))
    receives = sorted((span["end"], span["begin"]) for span in names.get("gloo:recv", ()))
    for (end, _), (came, _) in zip(receives, sorted(posted["recv"])):
        assert end >= came
    waited = {job.begin - 20_000 for job in jobs}  # small_run's gap before each job
    assert all(end in waited for end, _ in receives)
    sums = sorted(s["end"] for s in names.get("gloo:all_reduce", ()))
    assert sums == sorted(each.end for each in run.collectives if rank in each.ranks)
