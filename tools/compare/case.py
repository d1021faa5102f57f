"""One command that both builds run, and what a build made of it."""

import dataclasses


@dataclasses.dataclass
class Case:
    """A command line. Its folder is empty when it starts, but for what `copies` puts there."""

    group: str  # what the summary table counts it under
    source: str  # the input it is about, for people
    program: str  # pipe-trace, pipe-run or pipe-view
    args: list
    copies: dict = dataclasses.field(default_factory=dict)  # name in the folder: file or folder
    stdin: list = dataclasses.field(default_factory=list)  # files, one after the other


@dataclasses.dataclass
class Outcome:
    """What one build did: texts as bytes, and the files it left, by their names."""

    exit_code: object  # a number, or a text that says why there is none
    stdout: bytes
    stderr: bytes
    files: dict
