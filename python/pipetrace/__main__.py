"""`python -m pipetrace PROGRAM [ARGUMENTS]` or `python -m pipetrace -m MODULE [ARGUMENTS]`.

Runs a Python program as `python PROGRAM` or `python -m MODULE` would, and records it.
docs/python-recording.md says what is recorded.
"""

import importlib.machinery
import importlib.util
import os
import runpy
import sys
import types

_USAGE = """usage: python -m pipetrace PROGRAM [ARGUMENTS]
       python -m pipetrace -m MODULE [ARGUMENTS]
       python -m pipetrace doctor

Runs a Python program as `python PROGRAM` or `python -m MODULE` would, and records its pipeline into
pipetrace-logs. `doctor` says what can be recorded here.
docs/python-recording.md has the rest.
"""


def _fail(text):
    print(f"pipetrace: {text}", file=sys.stderr)
    sys.exit(2)


def _new_main(file, spec, loader):
    """A fresh `__main__`, in the place of this one."""
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=file,
        __cached__=spec.cached if spec is not None else None,
        __loader__=loader,
        __spec__=spec,
        __package__=spec.parent if spec is not None else None,
        __builtins__=__builtins__,
    )
    sys.modules["__main__"] = module
    return module


def _run_file(path):
    if os.path.isdir(path) or path.endswith((".zip", ".pyz", ".pyc")):
        if not getattr(sys.flags, "safe_path", False):
            del sys.path[0]  # run_path() puts its own there
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        _fail(f"cannot read the program: {error}")
    whole = os.path.join(os.getcwd(), path)  # as Python writes it
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    loader = importlib.machinery.SourceFileLoader("__main__", whole)
    module = _new_main(whole, None, loader)
    exec(compile(source, whole, "exec", dont_inherit=True), module.__dict__)


def _run_module(name):
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(name + ".__main__")
    except ImportError as error:
        _fail(f"cannot run the module {name}: {error}")
    code = spec.loader.get_code(spec.name) if spec is not None and spec.loader else None
    if code is None:
        _fail(f"cannot run the module {name}: there is none, or it holds no code")
    sys.argv[0] = spec.origin
    module = _new_main(spec.origin, spec, spec.loader)
    exec(code, module.__dict__)


def _as_launchers_mean(words):
    """`deepspeed --module pipetrace PROGRAM` and torch.distributed.launch put --local_rank=N before
    the program's name, and mean the program."""
    count = 0
    while count < len(words) and words[count].startswith(("--local_rank=", "--local-rank=")):
        count += 1
    of_program, words = words[:count], words[count:]
    names = 2 if words[:1] == ["-m"] else 1
    return words[:names] + of_program + words[names:]


def main():
    words = _as_launchers_mean(sys.argv[1:])
    if not words or words[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return
    if words[0] == "doctor" and not os.path.exists("doctor"):
        from pipetrace.recording.doctor import main as doctor

        sys.exit(doctor(words[1:]))
    is_module = words[0] == "-m"
    if is_module and len(words) < 2:
        _fail("-m needs the name of a module")
    if words[0].startswith("-") and not is_module:
        _fail(f"{words[0]} is no option: options of the program come after its name")
    from pipetrace.recording import instrument
    from pipetrace.recording.children import record_children

    if instrument():
        record_children()
    sys.argv = words[1:] if is_module else words
    if is_module:
        _run_module(words[1])
    else:
        _run_file(words[0])


if __name__ == "__main__":
    main()
