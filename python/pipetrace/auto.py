"""`import pipetrace.auto` records this process if PIPETRACE=1 is set, and does nothing else."""

from pipetrace.recording import switches as _switches

if _switches.mode() is not None or _switches.unknown_mode() is not None:
    from pipetrace.recording import instrument as _instrument

    _instrument()
