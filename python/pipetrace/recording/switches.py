"""What the environment says about recording (docs/python-recording.md)."""

import os

_ON = {"1", "on", "true", "yes", "t", "y"}
LOG_FOLDER = "pipetrace-logs"


def mode(default=None):
    """ "record", "annotate" or None, as PIPETRACE says; `default` where it is not set."""
    value = os.environ.get("PIPETRACE", "").strip().lower()
    if not value:
        return default
    if value == "annotate":
        return "annotate"
    return "record" if value in _ON else None


def is_on(name):
    return os.environ.get(name, "").strip().lower() in _ON


def log_folder():
    """The folder of the logs as a whole path: of later runs of an elastic job one of their own."""
    folder = os.path.abspath(os.environ.get("PIPETRACE_LOG_DIR") or LOG_FOLDER)
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if "TORCHELASTIC_RUN_ID" in os.environ and restarts.isdigit() and int(restarts) > 0:
        folder = os.path.join(folder, f"restart-{int(restarts)}")
    return folder


def number(*names):
    """The first of these numbers that is in the environment; None where there is none."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdigit()), None)
