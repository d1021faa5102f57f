"""What the ranks of a trial said, and whether that is what happened."""

import re

from .expectation import STUCK

CAUSE = re.compile(r"rank (\d+) (died|failed|stalled|has not been heard of|was stopped by SIG\w+"
                   r"|waits for a message that nobody sends|lost a connection"
                   r"|no longer hears of any other rank)")
HOST = re.compile(r"host (\S+) \((?:ranks (\d+) (?:to|and) (\d+)|rank (\d+))\) has not been heard of")
CYCLE = "ranks wait for each other"
CUT_OFF = "cut off from the other hosts"
OWN_STOP = re.compile(r"stopped by SIG\w+$")


def last_error(output):
    """The text after the last "error: " at the start of a line; empty: there is none."""
    found = re.findall(r"^error: (.*)$", output, re.M)
    return found[-1] if found else ""


def cause_of(text, rank):
    """What a rank gives as the cause: a rank, or a host's name, and a word."""
    if match := HOST.match(text):
        return match[1], "has not been heard of"
    if match := CAUSE.match(text):
        return int(match[1]), match[2]
    if OWN_STOP.match(text):
        return rank, "was " + text
    if CUT_OFF in text:
        return "own host", CUT_OFF
    if text.startswith(CYCLE):
        return "ranks", CYCLE
    return None


def host_of_one_rank(trial, rank):
    return f"h{rank}" if trial.hosts and trial.ranks_a_host == 1 else None


def check_causes(trial, expected, outputs):
    """Complaints about what the survivors say. `outputs`: by rank."""
    complaints, named = [], {}
    for rank, output in outputs.items():
        if rank in expected.silent:
            continue
        error = last_error(output)
        cause = cause_of(error, rank)
        if cause is None:
            complaints.append(f"rank {rank} names no cause: {error[:300] or 'no error'}")
        else:
            named.setdefault(cause, []).append(rank)
    if len(named) > 1:
        complaints.append("the ranks name several causes: " + "; ".join(
            f"{cause[0]} {cause[1]}: ranks {', '.join(map(str, ranks))}"
            for cause, ranks in named.items()))
    allowed = {(rank, expected.cause) for rank in expected.culprits}
    allowed |= {(host_of_one_rank(trial, rank), expected.cause) for rank in expected.culprits}
    for culprit, word in named:
        if (culprit, word) not in allowed:
            culprits = " or ".join(f"rank {rank}" for rank in sorted(expected.culprits)[:4])
            complaints.append(f"ranks name '{culprit} {word}', where {culprits} {expected.cause}")
    return complaints


def check_cut(trial, outputs):
    """Complaints about what the two sides of a cut say."""
    missing = {}
    cut = trial.ranks_of_host(trial.host)
    ranks = f"rank {cut[0]}" if len(cut) == 1 else \
        f"ranks {cut[0]} {'and' if len(cut) == 2 else 'to'} {cut[-1]}"
    larger = f"host h{trial.host} ({ranks}) has not been heard of"
    for rank, output in outputs.items():
        error = last_error(output)
        wanted = CUT_OFF if rank in cut else larger
        if wanted not in error:
            said = error.split("; this ")[0][:200] or "no error"
            missing.setdefault((wanted, said), []).append(str(rank))
    return [f"ranks {', '.join(ranks)} do not say '{wanted}': {said}"
            for (wanted, said), ranks in missing.items()]


def check_codes(trial, expected, codes):
    """Complaints about exit codes. `codes`: by rank, "run" for pipe-run or the only process."""
    complaints = []
    for name, code in codes.items():
        if name in expected.silent:
            continue
        if name == "run" and trial.fault == "launcher-killed":
            allowed = (-9,)
        elif name == "run" and trial.launcher:
            allowed = (130,) if trial.fault == "ctrl-c" else (2,)
        elif name == "run":
            allowed = expected.codes.get(trial.rank, (2,))
        else:
            allowed = expected.codes.get(name, (2,))
        if code not in allowed:
            stuck = " (it was stuck)" if code == STUCK else ""
            complaints.append(f"{describe(name)} ended with {code}{stuck}, not "
                              f"{' or '.join(map(str, allowed))}")
    return complaints


def describe(name):
    return f"rank {name}" if isinstance(name, int) else "the run"


def check_launcher(trial, output):
    """Complaints about what pipe-run says of a killed rank."""
    if trial.fault != "kill" or not trial.launcher:
        return []
    wanted = f"pipe-run: rank {trial.rank} was killed by signal 9 (SIGKILL)"
    return [] if wanted in output else [f"pipe-run does not say '{wanted}': {output[-300:]}"]


def ended_actions(outputs):
    """How many actions each rank has ended at least, by what ranks say of themselves and of the
    culprit."""
    counts = {}
    for rank, output in outputs.items():
        error = last_error(output)
        own = re.search(rf"this rank, {rank}, was .*?\((\d+) actions? ended\)", error)
        named = CAUSE.match(error)
        last = re.search(r"\((\d+) actions? ended\)", error.split("; this ")[0])
        if own:
            counts[rank] = max(counts.get(rank, 0), int(own[1]))
        if named and last:
            culprit = int(named[1])
            counts[culprit] = max(counts.get(culprit, 0), int(last[1]))
    return counts


INCOMPLETE = re.compile(r"the job logs? of ranks? ([\d, toand]+?) (?:is|are) incomplete"
                        r"(?: from step (\d+) on)?: No space left on device")


def first_lost(output):
    """Of each rank that says so, the first step of which its log may lack something."""
    found = {}
    for ranks, step in INCOMPLETE.findall(output):
        for rank in ranks_in(ranks):
            found[rank] = int(step or 0)
    return found


def ranks_in(text):
    """The numbers of "0, 2 to 4 and 7"."""
    ranks = set()
    for part in re.split(r", | and ", text):
        first, _, last = part.partition(" to ")
        ranks.update(range(int(first), int(last or first) + 1))
    return ranks
