#!/usr/bin/env python3
"""Compares the losses of trainings of a sample, from what it printed, and draws them.

Prints for each training how far the mean loss of 20 steps is from that of the first training, at
most and at the end, and the median of its speeds. --svg draws these means and the losses.
"""
import argparse
import pathlib
import re
import statistics

MEAN_OF = 20
LINE = re.compile(r"^step \d+ loss ([0-9.]+)(?:, (\d+) \w+/s)?", re.M)
COLOURS = ("#1f6fb4", "#d1641c", "#3f8f4f", "#8a5aa8")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 360, 56, 16, 16, 44


class Training:
    """The losses of one training, and the means of each 20 steps in a row."""

    def __init__(self, path):
        self.name = pathlib.Path(path).stem
        found = LINE.findall(pathlib.Path(path).read_text())
        self.losses = [float(loss) for loss, _ in found]
        self.speeds = [int(speed) for _, speed in found if speed]
        self.means = [statistics.fmean(self.losses[i - MEAN_OF:i])
                      for i in range(MEAN_OF, len(self.losses) + 1)]
        if not self.means:
            raise SystemExit(f"{path} has fewer than {MEAN_OF} lines of steps")


def off(training, first):
    """By how many percent each mean is above that of the first training."""
    return [100 * (a / b - 1) for a, b in zip(training.means, first.means)]


def line(points, colour, width, opacity):
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-opacity="{opacity}"/>')


def drawn(trainings):
    steps = max(len(t.losses) for t in trainings)
    top = max(max(t.losses) for t in trainings)

    def at(step, loss):
        return (LEFT + (WIDTH - LEFT - RIGHT) * step / steps,
                TOP + (HEIGHT - TOP - BOTTOM) * (1 - loss / top))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12" fill="#222">',
             '<rect width="100%" height="100%" fill="#fff"/>']
    for loss in range(int(top) + 1):
        (x, y), (end, _) = at(0, loss), at(steps, loss)
        parts.append(f'<path d="M{x:.1f} {y:.1f}H{end:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{loss}</text>')
    for step in range(0, steps + 1, 50):
        x, y = at(step, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{step}</text>')
    x, y = at(steps / 2, 0)
    parts.append(f'<text x="{x:.1f}" y="{y + 36:.1f}" text-anchor="middle">step; loss, and its mean '
                 f'over {MEAN_OF} steps</text>')
    for i, training in enumerate(trainings):
        colour = COLOURS[i % len(COLOURS)]
        parts.append(line([at(*p) for p in enumerate(training.losses)], colour, 1, 0.25))
        parts.append(line([at(MEAN_OF - 1 + s, m) for s, m in enumerate(training.means)], colour,
                          2, 1))
        # Losses fall, so there is room below their beginning.
        y = HEIGHT - BOTTOM - 8 - 16 * (len(trainings) - 1 - i)
        parts.append(f'<text x="{LEFT + 8}" y="{y}" fill="{colour}">{training.name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("outputs", metavar="FILE", nargs="+", help="what a sample printed")
    parser.add_argument("--svg", metavar="FILE", help="draw the losses into this file")
    chosen = parser.parse_args()
    trainings = [Training(path) for path in chosen.outputs]
    for training in trainings:
        apart = off(training, trainings[0])
        most = max(range(len(apart)), key=lambda i: abs(apart[i]))
        speed = f", {statistics.median(training.speeds):.0f} a second" if training.speeds else ""
        print(f"{training.name}: {len(training.losses)} steps, at most {apart[most]:+.2f} % at step "
              f"{most + MEAN_OF - 1}, {apart[-1]:+.2f} % at the end{speed}")
    if chosen.svg:
        pathlib.Path(chosen.svg).write_text(drawn(trainings))


if __name__ == "__main__":
    main()
