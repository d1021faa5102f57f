"""Runs a test with a Python that has torch, and skips it (77) where that is missing.

with_torch.py PYTHON MODULES TEST [ARGUMENTS]; MODULES is what TEST imports, as `torch,megatron.core`.
"""

import subprocess
import sys

python, modules, *test = sys.argv[1:]
needs = "import sys\ntry: import " + modules
needs += "\nexcept ImportError as error: print(error); sys.exit(77)"
try:
    code = subprocess.run([python, "-c", needs], stderr=subprocess.DEVNULL, check=False).returncode
except OSError as error:
    print(error)
    code = 77
if code == 77:
    print(f"skipped: {python} cannot import {modules}: set PIPETRACE_TORCH_PYTHON (CMake)")
    sys.exit(77)
sys.exit(subprocess.run([python, "-B", *test], check=False).returncode)
