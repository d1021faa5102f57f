"""How a function of a framework is put under a hook that can do it no harm."""

import functools
import inspect
import sys
import types

from .session import say, session

FAILED = object()  # in place of a result: the function raised
missing = []  # functions that around() did not find


class Hook:
    """Switches itself off with one line when it fails; the function goes on without it."""

    __slots__ = ("name", "is_off")

    def __init__(self, name):
        self.name = name
        self.is_off = False

    def fail(self, error):
        if not self.is_off:
            self.is_off = True
            say(
                f"{self.name} is not recorded any more: {type(error).__name__}: {error}; "
                "`python -m pipetrace doctor` says what works here"
            )


def around(owner, name, before, after=None):
    """Replaces `owner.name` by a function that calls `before`, the original, and `after`.

    `before` gets the arguments. If it returns None, `after` is not called. `after` gets what
    `before` returned, and the result, or FAILED; what it returns takes the place of the result,
    unless that is None. A second call for the same function changes nothing. Returns whether there
    is such a function.
    """
    return replace(owner, name, calling(before, after))


def calling(before, after=None):
    """What replace() needs for around()."""

    def made(original, hook):
        def hooked(*args, **kwargs):
            if session.is_off or hook.is_off:
                return original(*args, **kwargs)
            try:
                token = before(*args, **kwargs)
            except Exception as error:
                hook.fail(error)
                token = None
            if token is None or after is None:
                return original(*args, **kwargs)
            try:
                result = original(*args, **kwargs)
            except BaseException:
                try:
                    after(token, FAILED)
                except Exception as error:
                    hook.fail(error)
                raise
            try:
                changed = after(token, result)
            except Exception as error:
                hook.fail(error)
                return result
            return result if changed is None else changed

        return hooked

    return made


def behind(owner, name, after):
    """around() for a hook that only looks at the result: `after` gets it, and the arguments."""

    def made(original, hook):
        def hooked(*args, **kwargs):
            result = original(*args, **kwargs)
            if not session.is_off and not hook.is_off:
                try:
                    after(result, *args, **kwargs)
                except Exception as error:
                    hook.fail(error)
            return result

        return hooked

    return replace(owner, name, made)


def job(owner, name, begins):
    """around() for a function that is one job: `begins` opens it and returns True, or None."""

    def after(_, result):
        if result is FAILED:
            session.cancel()
        else:
            session.end()

    return around(owner, name, begins, after)


def replace(owner, name, made):
    """Puts what `made(original, hook)` returns in the place of `owner.name`, as around() says."""
    original = vars(owner).get(name)
    label = f"{getattr(owner, '__name__', owner)}.{name}"
    if original is None or not callable(original):
        missing.append(label)
        return False
    if getattr(original, "_pipetrace_hook", None) is not None:
        return True
    hook = Hook(label)
    hooked = functools.wraps(original)(made(original, hook))
    hooked._pipetrace_hook = hook
    setattr(owner, name, hooked)
    if isinstance(owner, types.ModuleType):  # others may have imported it by name already
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", {})
            if names.get(name) is original:
                names[name] = hooked
    return True


def arguments(function, *names):
    """Finds arguments by name, wherever a call or a version of the function has them.

    Returns a function of `args` and `kwargs` that gives one value for each name; its default, or
    None, where the call or the function has no such argument.
    """
    parameters = inspect.signature(function).parameters
    places = {name: place for place, name in enumerate(parameters)}
    known = []
    for name in names:
        default = parameters[name].default if name in parameters else None
        default = None if default is inspect.Parameter.empty else default
        known.append((name, places.get(name, sys.maxsize), default))

    def found(args, kwargs):
        return [
            args[place] if place < len(args) else kwargs.get(name, default)
            for name, place, default in known
        ]

    return found
