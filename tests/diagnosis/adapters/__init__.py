"""Adapters: each asks one tool what is wrong with a run (../README.md says how to add one)."""

import importlib
import os

NOT_TOOLS = ("__init__", "job_times", "hta_figures")


def names():
    here = os.path.dirname(os.path.abspath(__file__))
    modules = (name[:-3] for name in os.listdir(here) if name.endswith(".py"))
    return sorted(name for name in modules if name not in NOT_TOOLS)


def load(name):
    if name not in names():
        raise ValueError("no adapter %s; there are %s" % (name, ", ".join(names())))
    return importlib.import_module(__name__ + "." + name)
