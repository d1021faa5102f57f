"""What the environment says about recording (docs/python-recording.md)."""

import os

_ON = {"1", "on", "true", "yes", "t", "y"}
_OFF = {"0", "off", "false", "no", "f", "n"}
LOG_FOLDER = "pipetrace-logs"


def mode(default=None):
    """ "record", "annotate" or None, as PIPETRACE says; `default` where it is not set."""
    value = os.environ.get("PIPETRACE", "").strip().lower()
    if not value:
        return default
    if value == "annotate":
        return "annotate"
    return "record" if value in _ON else None


def unknown_mode():
    """What PIPETRACE is, if nobody knows what that means: then nothing is recorded. Else None."""
    value = os.environ.get("PIPETRACE", "").strip()
    return value if value and value.lower() not in {*_ON, *_OFF, "annotate"} else None


def is_on(name):
    return os.environ.get(name, "").strip().lower() in _ON


def log_folder():
    """The folder of the logs as a whole path: of later runs of an elastic job one of their own."""
    folder = os.path.abspath(os.environ.get("PIPETRACE_LOG_DIR") or LOG_FOLDER)
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if "TORCHELASTIC_RUN_ID" in os.environ and restarts.isdigit() and int(restarts) > 0:
        folder = os.path.join(folder, f"restart-{int(restarts)}")
    return folder


# What launchers call the number of a process, how many there are, and how many of these are on this
# host. The innermost launcher counts: mpirun in a job of Slurm starts the processes itself.
_LAUNCHERS = (
    ("RANK", ("WORLD_SIZE",), ("LOCAL_WORLD_SIZE", "LOCAL_SIZE")),  # torchrun, deepspeed
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), ("OMPI_COMM_WORLD_LOCAL_SIZE",)),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), ()),  # srun
    ("PMI_RANK", ("PMI_SIZE",), ("MPI_LOCALNRANKS",)),  # mpirun of MPICH and Intel
    ("PMIX_RANK", (), ()),
)


def place():
    """The number of this process and how many there are, as its launcher says: (0, None) without."""
    rank, sizes, _ = _launcher()
    return _number(rank) or 0, _number(*sizes)


def has_several_hosts(world_size):
    """Whether the launcher says that not all of the `world_size` processes are on this host."""
    rank, _, sizes_here = _launcher()
    if rank == "SLURM_PROCID":
        return (_number("SLURM_STEP_NUM_NODES", "SLURM_NNODES") or 1) > 1
    return (_number(*sizes_here) or world_size) < world_size


def _launcher():
    for names in _LAUNCHERS:
        is_step = names[0] != "SLURM_PROCID" or "SLURM_STEP_ID" in os.environ  # else a job's script
        if is_step and _number(names[0]) is not None:
            return names
    return "", (), ()


def _number(*names):
    """The first of these numbers that is in the environment; None where there is none."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdigit()), None)
