"""PipeTrace's plans, by way of print_plans."""

import subprocess


def our_plans(command, sizes):
    """The rows of each plan; sizes = [(name, ranks, micro-batches, chunks)]. `command` is
    print_plans with its options."""
    asked = "".join("%s %d %d %d\n" % size for size in sizes)
    printed = subprocess.run(
        command, input=asked, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    plans = {}
    for line in printed.splitlines():
        if line.startswith("## "):
            name, *numbers = line[3:].split()
            rows = plans[(name, *map(int, numbers))] = []
        elif not line.startswith("#"):
            rows.append(line.replace(",", " ").split())
    return plans


def compare(command, peer_plans):
    """Prints where the plans of {size: rows} differ from ours; returns how many do."""
    ours = our_plans(command, list(peer_plans))
    different = 0
    for size, theirs in peer_plans.items():
        for rank, (our_row, their_row) in enumerate(zip(ours[size], theirs, strict=True)):
            if our_row == their_row:
                continue
            cell = next(
                (i for i, pair in enumerate(zip(our_row, their_row)) if pair[0] != pair[1]),
                min(len(our_row), len(their_row)),
            )
            print(
                "%s p=%d m=%d v=%d" % size,
                "rank %d, cell %d: ours" % (rank, cell),
                our_row[cell : cell + 4],
                "peer's",
                their_row[cell : cell + 4],
            )
            different += 1
            break
    return different
