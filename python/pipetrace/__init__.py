"""Profiles pipeline-parallel training: records runs, reads them and says why ranks were idle.

    import pipetrace

    run = pipetrace.load("traces/")       # whatever pipe-trace reads
    run.findings                          # what costs most, with the ranks to blame
    run.bubbles.to_pandas()               # every stretch of idle time, with its cause

docs/python.md describes it. Importing it imports nothing else: names are loaded when they are used.
"""

TYPE_CHECKING = False  # type checkers take it for true; typing is not imported
if TYPE_CHECKING:
    from pipetrace.looking.library import Error, InputWarning, version
    from pipetrace.looking.plan import Comparison, Plan, compare, plan
    from pipetrace.looking.run import (
        Advice,
        Chart,
        Diff,
        Doubt,
        Finding,
        Findings,
        Place,
        Report,
        Run,
        Topology,
        WhatIf,
        load,
    )
    from pipetrace.looking.table import Table
    from pipetrace.recording import instrument, job, step

# A name of the package, and the module that has it.
_MODULES = {
    "load": "pipetrace.looking.run",
    "Run": "pipetrace.looking.run",
    "Advice": "pipetrace.looking.run",
    "Chart": "pipetrace.looking.run",
    "Diff": "pipetrace.looking.run",
    "Doubt": "pipetrace.looking.run",
    "Finding": "pipetrace.looking.run",
    "Findings": "pipetrace.looking.run",
    "Place": "pipetrace.looking.run",
    "Report": "pipetrace.looking.run",
    "Topology": "pipetrace.looking.run",
    "WhatIf": "pipetrace.looking.run",
    "Table": "pipetrace.looking.table",
    "plan": "pipetrace.looking.plan",
    "compare": "pipetrace.looking.plan",
    "Plan": "pipetrace.looking.plan",
    "Comparison": "pipetrace.looking.plan",
    "Error": "pipetrace.looking.library",
    "InputWarning": "pipetrace.looking.library",
    "version": "pipetrace.looking.library",
    "instrument": "pipetrace.recording",
    "job": "pipetrace.recording",
    "step": "pipetrace.recording",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return __getattr__("version")()  # type: ignore[operator]
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'pipetrace' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, "__version__"])
