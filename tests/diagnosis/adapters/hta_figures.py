"""Prints figures of Meta's Holistic Trace Analysis as JSON. It runs under a Python that has HTA:
the adapter (hta.py) starts it, and nothing of it is imported elsewhere."""

import contextlib
import importlib.metadata
import json
import logging
import sys
import warnings


def figures(folder):
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_dir=folder)
    result = {"version": importlib.metadata.version("HolisticTraceAnalysis")}
    for name, table in (
        ("times", analysis.get_temporal_breakdown),
        ("overlap", analysis.get_comm_comp_overlap),
    ):
        try:
            result[name] = json.loads(table(visualize=False).to_json(orient="records"))
        except Exception as error:  # it says what it lacks in many ways
            result[name + "_error"] = repr(error)
    try:
        result["stragglers"] = [int(rank) for rank in analysis.get_potential_stragglers()]
    except Exception as error:
        result["stragglers_error"] = repr(error)
    return result


def main():
    sys.path.pop(0)  # hta.py lies here, which is not the package
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(sys.stderr):
        found = figures(sys.argv[1])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
