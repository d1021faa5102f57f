"""Job logs and Chrome traces as records whose times and names can be changed."""

import gzip
import json
import pathlib
import re

JOB_NAME = re.compile(r"^(PP:)?(\d+)([FBIW])(\d+)$")
STEP_NAME = re.compile(r"^ProfilerStep#(\d+)$")
BEGIN = re.compile(r"\b(job_start_time|start_time) = ([0-9.]+)")
END = re.compile(r"\b(job_end_time|end_time) = ([0-9.]+)")
KINDS = {"forward": "F", "backward": "B"}
NAMES = {"F": "forward", "B": "backward"}


class LogRecord:
    """A line of a job log that has a begin and an end."""

    def __init__(self, line):
        self.line = line
        self.begin, self.end = (self._time(pattern) for pattern in (BEGIN, END))
        self.is_job = "Profiler Info" in line and self.kind in "FB"

    def _time(self, pattern):
        whole, _, part = pattern.search(self.line)[2].partition(".")
        return int(whole) * 1_000_000 + int((part + "000000")[:6])

    def _field(self, name):
        found = re.search(rf"\b{name} = (-?\d+)", self.line)
        return int(found[1]) if found else None

    def _set(self, name, value):
        self.line = re.sub(rf"\b{name} = -?\d+", f"{name} = {value}", self.line)

    micro_batch = property(lambda self: self._field("micro_batch_id"),
                           lambda self, value: self._set("micro_batch_id", value))
    stage = property(lambda self: self._field("stage"), lambda self, v: self._set("stage", v))
    step = property(lambda self: self._field("step"), lambda self, v: self._set("step", v))

    @property
    def kind(self):
        return KINDS.get(re.search(r"type = (\w+)", self.line)[1], "other")

    @kind.setter
    def kind(self, kind):
        self.line = re.sub(r"type = \w+", f"type = {NAMES[kind]}", self.line)

    def text(self):
        def ms(ns):
            sign = "-" if ns < 0 else ""
            return f"{sign}{abs(ns) // 1_000_000}.{abs(ns) % 1_000_000:06d}"
        line = BEGIN.sub(lambda found: f"{found[1]} = {ms(self.begin)}", self.line)
        return END.sub(lambda found: f"{found[1]} = {ms(self.end)}", line)

    def copy(self):
        result = LogRecord(self.line)
        result.begin, result.end = self.begin, self.end
        return result


class Log:
    def __init__(self, path):
        self.name, self.records, self.others = path.name, [], []
        for line in path.read_text().splitlines():
            if BEGIN.search(line) and END.search(line) and ("Info" in line or "Stream" in line):
                self.records.append(LogRecord(line))
            else:
                self.others.append(line)

    def set_rank(self, rank):
        self.name = f"workerlog.{rank}"
        self.others = [re.sub(r"\brank = \d+", f"rank = {rank}", line) for line in self.others]

    @property
    def rank(self):
        return int(self.name.rpartition(".")[2])

    def data(self):
        head = [line for line in self.others if "Meta" in line]
        tail = [line for line in self.others if "Meta" not in line]
        lines = head + [record.text() for record in self.records] + tail
        return ("\n".join(lines) + "\n").encode()


class TraceRecord:
    """An event with a begin and an end of a Chrome trace."""

    def __init__(self, event):
        self.event = event
        self.begin = round(event["ts"] * 1000)
        self.end = self.begin + round(event.get("dur", 0) * 1000)
        self.is_job = self._job() is not None

    def _job(self):
        return JOB_NAME.match(self.event["name"])

    def _rename(self, stage=None, kind=None, micro_batch=None):
        job = self._job()
        if job is None:
            return
        self.event["name"] = (f"{job[1] or ''}{job[2] if stage is None else stage}"
                              f"{kind or job[3]}{job[4] if micro_batch is None else micro_batch}")

    stage = property(lambda self: int(self._job()[2]) if self._job() else None,
                     lambda self, value: self._rename(stage=value))
    micro_batch = property(lambda self: int(self._job()[4]) if self._job() else None,
                           lambda self, value: self._rename(micro_batch=value))
    kind = property(lambda self: self._job()[3] if self._job() else "other",
                    lambda self, value: self._rename(kind=value))

    @property
    def step(self):
        found = STEP_NAME.match(self.event["name"])
        return int(found[1]) if found else None

    @step.setter
    def step(self, step):
        if STEP_NAME.match(self.event["name"]):
            self.event["name"] = f"ProfilerStep#{step}"

    def changed(self):
        return dict(self.event, ts=self.begin / 1000, dur=(self.end - self.begin) / 1000)

    def copy(self):
        result = TraceRecord(json.loads(json.dumps(self.event)))
        result.begin, result.end = self.begin, self.end
        return result


class Trace:
    def __init__(self, path):
        self.name = path.name.removesuffix(".gz")
        raw = path.read_bytes()
        whole = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        self.whole = whole if isinstance(whole, dict) else {"traceEvents": whole}
        events = self.whole["traceEvents"]
        self.records = [TraceRecord(e) for e in events if e.get("ph") == "X" and "ts" in e]
        self.others = [e for e in events if not (e.get("ph") == "X" and "ts" in e)]

    @property
    def rank(self):
        return self.whole.get("distributedInfo", {}).get("rank", 0)

    def set_rank(self, rank):
        self.name = re.sub(r"\d+", str(rank), self.name, count=1)
        if "distributedInfo" in self.whole:
            self.whole["distributedInfo"] = dict(self.whole["distributedInfo"], rank=rank)

    def data(self):
        events = self.others + [record.changed() for record in self.records]
        return json.dumps(dict(self.whole, traceEvents=events)).encode()


def read(folder):
    """The files of a run, one a rank; empty if they are of no kind that can be changed."""
    files = []
    for path in sorted(pathlib.Path(folder).iterdir()):
        if path.name.startswith("workerlog.") and path.suffix[1:].isdigit():
            files.append(Log(path))
        elif path.name.endswith((".json", ".json.gz")) and path.name != "truth.json":
            files.append(Trace(path))
    return sorted(files, key=lambda file: file.rank)
