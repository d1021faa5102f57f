"""Whether the logs of a trial are whole up to the last job, as pipe-trace reads them."""

import json
import sqlite3
import subprocess

# What pipe-trace may find in logs of a run that did not reach its end.
CUT_SHORT = ("no Profiler End line", "jobs that are not in the log are read from here",
             "job that is not in the log is read from here", "records that are not in the log",
             "is incomplete (rank", "are incomplete", "ranks have other last steps")


def check_logs(world, plan, expected, ended_whole, ended_actions, first_lost):
    """Complaints. `ended_whole`: the run reached its end; `ended_actions`, `first_lost`: see
    verdicts.py."""
    database = world.folder / "jobs.sqlite"
    enter = world.disk.enter if world.disk is not None else None

    def pipe_trace(*arguments):
        return subprocess.run([str(world.bin / "pipe-trace"), *arguments], capture_output=True,
                              text=True, check=False, env=world.environment(), preexec_fn=enter)

    logs = str(world.folder / "logs")
    converted = pipe_trace(logs, "-o", str(database), "-q")
    if converted.returncode != 0:
        return [f"pipe-trace cannot read the logs: {converted.stderr.strip()[-300:]}"]
    info = pipe_trace("info", logs, "--json", "-q")
    findings = json.loads(info.stdout)["diagnostics"]
    complaints = check_findings(findings, expected, ended_whole)
    with sqlite3.connect(database) as connection:
        return complaints + check_jobs(connection, world.trial, plan, expected, ended_whole,
                                       ended_actions, first_lost)


def check_findings(findings, expected, ended_whole):
    complaints = []
    for finding in findings:
        text = f"{finding['message']}; {finding['advice']}"
        if finding["severity"] == "error":
            complaints.append(f"pipe-trace finds an error: {text}")
        elif finding["severity"] != "warning" or expected.lost_logs:
            continue
        elif ended_whole or not any(known in text for known in CUT_SHORT):
            complaints.append(f"pipe-trace warns: {finding['file']} {text}")
    return complaints


def check_jobs(connection, trial, plan, expected, ended_whole, ended_actions, first_lost):
    jobs = {}
    rows = connection.execute("SELECT rank, step, kind, arguments FROM job WHERE lane = 'compute' "
                              "ORDER BY rank, begin_ns, end_ns, id")
    for rank, step, kind, arguments in rows:
        action = json.loads(arguments or "{}").get("action")
        jobs.setdefault(rank, []).append((step, kind if action is None else action))
    dropped = dropped_by_rank(connection)
    complaints = []
    for rank in range(trial.ranks):
        own = jobs.get(rank, [])
        lost_from = first_lost.get(rank) if expected.lost_logs else None
        if lost_from is not None:
            own = [job for job in own if job[0] < lost_from]
            wrong = "" if lost_from == 0 else first_gap(own, plan.rows[rank], lost_from)
        else:
            wrong = first_gap(own, plan.rows[rank], trial.steps if ended_whole else None)
        if wrong:
            complaints.append(f"the log of rank {rank} is not whole: {wrong}")
        if dropped.get(rank) and lost_from is None:
            complaints.append(f"the log of rank {rank} lacks {dropped[rank]} records")
        if len(own) < ended_actions.get(rank, 0):
            complaints.append(f"the log of rank {rank} has {len(own)} jobs, but the rank had ended "
                              f"{ended_actions[rank]}")
    return complaints


def dropped_by_rank(connection):
    """Records that each log counts as lost."""
    (text,), = connection.execute("SELECT value FROM meta WHERE key = 'pipetrace'")
    return {one["rank"]: one.get("end", {}).get("dropped", 0) for one in json.loads(text)["ranks"]}


def first_gap(jobs, row, steps):
    """What is not as the plan says; empty: nothing. `jobs`: (step, text) of a rank, in their order;
    `steps`: all of them are there; None: the last may be cut off."""
    if not jobs:
        return "it has no jobs"
    by_step = {}
    for step, text in jobs:
        by_step.setdefault(step, []).append(text)
    last = max(by_step)
    if steps is not None and last != steps - 1:
        return f"it ends in step {last} of {steps}"
    for step in range(last + 1):
        if step not in by_step:
            return f"step {step} is missing"
        texts = by_step[step]
        actions = [text for text in texts if text[0] in "(0123456789"]
        is_cut = steps is None and step == last
        wanted = row[:len(actions)] if is_cut else row
        if actions != wanted:
            at = next((i for i, (a, b) in enumerate(zip(actions, wanted)) if a != b),
                      min(len(actions), len(wanted)))
            return (f"step {step} has {len(actions)} of {len(wanted)} actions; action {at} is "
                    f"{actions[at] if at < len(actions) else 'missing'}, not "
                    f"{wanted[at] if at < len(wanted) else 'there'}")
        if actions and "lr" not in texts:
            return f"step {step} has no lr"
    return ""
