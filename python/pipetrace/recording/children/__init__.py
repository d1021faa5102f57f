"""Makes Python processes that this one starts record, too: those of torch.multiprocessing, say.

The environment tells them: PIPETRACE, and this folder in front of PYTHONPATH, whose
`sitecustomize.py` imports `pipetrace.auto` and then the `sitecustomize` that would have been
imported without it.
"""

import os

from .. import switches


def record_children():
    os.environ.setdefault("PIPETRACE", "1")
    os.environ["PIPETRACE_LOG_DIR"] = os.path.abspath(
        os.environ.get("PIPETRACE_LOG_DIR") or switches.LOG_FOLDER
    )
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if here not in paths:
        paths.insert(0, here)
    for _ in range(3):  # the folder that has the package
        here = os.path.dirname(here)
    if here not in paths and os.path.basename(here) not in ("site-packages", "dist-packages"):
        paths.insert(1, here)
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
