"""Records processes that a recorded one starts; see record_children()."""

import os
import sys


def _chain():
    """Imports the sitecustomize that this one stands before."""
    here = os.path.dirname(os.path.abspath(__file__))
    paths = sys.path[:]
    sys.path[:] = [path for path in paths if os.path.abspath(path or ".") != here]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if this is not None:
            sys.modules["sitecustomize"] = this
    finally:
        sys.path[:] = paths


try:
    import pipetrace.auto  # noqa: F401
except Exception:  # a Python without the package, or older than 3.10
    pass
_chain()
