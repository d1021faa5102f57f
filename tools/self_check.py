"""What the self-tests of tools share."""


class Failure(Exception):
    """A self-test found a mistake."""


def check(is_true, text, output=""):
    """Prints that `text` is so, or raises Failure with it and `output`."""
    if not is_true:
        raise Failure(f"{text}\n{output}")
    print(f"ok: {text}", flush=True)
