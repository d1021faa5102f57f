"""Checks a Chrome JSON profile against the description of the format; front ends accept more.

lint(bytes) -> (counts, sentences): {'slices', 'flows', 'counters'}, and a sentence for each error.
"""

import collections
import decimal
import json
import re

RESERVED = {  # ui/base/color_scheme of Catapult's trace viewer
    "thread_state_uninterruptible", "thread_state_iowait", "thread_state_running",
    "thread_state_runnable", "thread_state_sleeping", "thread_state_unknown",
    "background_memory_dump", "light_memory_dump", "detailed_memory_dump", "vsync_highlight_color",
    "generic_work", "good", "bad", "terrible", "black", "grey", "white", "yellow", "olive",
    "rail_response", "rail_animation", "rail_idle", "rail_load", "startup", "heap_dump_stack_frame",
    "heap_dump_object_type", "heap_dump_child_node_arrow", "cq_build_running", "cq_build_passed",
    "cq_build_failed", "cq_build_abandoned", "cq_build_attempt_runnig", "cq_build_attempt_passed",
    "cq_build_attempt_failed"}
NANOSECOND = decimal.Decimal("0.001")
TOO_LATE = 2 ** 43  # in microseconds: from there on a double has no nanoseconds
MOST = 2 ** 32  # of a pid or tid: Perfetto cuts them


def _refuse(word):
    raise ValueError(f"{word} is no JSON")


def lint(data):
    wrong = collections.Counter()
    try:
        text = data.decode("utf-8")
        root = json.loads(text, parse_float=decimal.Decimal, parse_constant=_refuse)
        events = root["traceEvents"]
    except (ValueError, KeyError, TypeError) as error:
        return {}, [f"no JSON: {error}"]
    if root.get("displayTimeUnit") != "ns":
        wrong["displayTimeUnit is not ns"] += 1
    for field in re.findall(r'"(?:ts|dur)":([^,}]*)', text):
        if not re.fullmatch(r"\d+\.\d{3}", field):
            wrong["a time without exactly three decimals"] += 1
    rows = collections.defaultdict(list)
    arrows = collections.defaultdict(list)
    named = set()
    counts = collections.Counter()
    for event in events:
        kind = event["ph"]
        if event.get("ts", 0) >= TOO_LATE:
            wrong["a time that the viewers round"] += 1
        if not 0 < event["pid"] < MOST or not 0 <= event.get("tid", 0) < MOST:
            wrong["a pid or tid that is cut"] += 1
        if kind == "M":
            named.add((event["name"], event["pid"], event.get("tid")))
            if event["name"].endswith("_sort_index") and type(event["args"]["sort_index"]) is not int:
                wrong["a sort_index that is no number"] += 1
        elif kind == "X":
            counts["slices"] += 1
            rows[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
            if event.get("cname", "good") not in RESERVED:
                wrong[f"cname {event['cname']}"] += 1
        elif kind == "C":
            counts["counters"] += len(event["args"])
        elif kind in "sf":
            arrows[event["id"]].append(event)
        else:
            wrong[f"ph {kind}"] += 1
    for (pid, tid), slices in rows.items():
        if ("thread_name", pid, tid) not in named or ("process_name", pid, None) not in named:
            wrong["a row without a name"] += 1
        slices.sort()
        for (begin, length), (following, _) in zip(slices, slices[1:]):
            if following < begin + length:
                wrong["overlapping slices"] += 1
    begins = {row: {begin + NANOSECOND for begin, _ in slices} for row, slices in rows.items()}
    for ends in arrows.values():
        counts["flows"] += 1
        if [end["ph"] for end in sorted(ends, key=lambda e: e["ph"], reverse=True)] != ["s", "f"]:
            wrong["an arrow that is not one s and one f"] += 1
            continue
        for end in ends:
            row = end["pid"], end["tid"]
            if end["ph"] == "f" and (end.get("bp") != "e" or end["ts"] not in begins[row]):
                wrong["an arrow that ends at no slice's first nanosecond"] += 1
    return counts, [f"{what} ({count} times)" for what, count in wrong.items()]
