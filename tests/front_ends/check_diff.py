#!/usr/bin/env python3
"""Opens the page of `pipe-trace diff A B -o NAME.html` in Chromium and uses it as people do.

use: check_diff.py PIPE_TRACE FOLDER

The runs are simulated ones. Stage 2 is slower in B, and a job of B has a name that is markup.
FOLDER gets their logs, the page, and pictures of it. Exit code 0: no error in the console, no
request beside the file itself, and the charts of both runs have one time scale, zoom together and
show the same jobs; tables, colours and printing do what they should.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

from check_report import EVIL, Page, check_colours, check_markup, check_print
from viewers import set_window


def make_logs(pipe_trace, folder, scale):
    """1F1B on 4 ranks, forwards of 10 ms, those of stage 2 `scale` times as long."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([pipe_trace, "plan", "--schedule", "1F1B", "--ranks", "4", "--micro-batches", "8",
                    "--forward-ms", "10", "--backward-ms", "20", "--transfer-ms", "0.05", "--lr-ms",
                    "0.1", "--optimizer-ms", "2", "--steps", "5", "--scale", f"stage=2:{scale}",
                    "-o", f"{folder}/"], check=True, capture_output=True)
    return folder


def add_evil(folder):
    log = folder / "workerlog.1"
    text = log.read_text()
    assert "type = optimizer" in text
    log.write_text(text.replace("type = optimizer", "type = " + json.dumps(EVIL)))


def check_charts(page):
    charts = page.charts()
    page.expect([chart["kind"] for chart in charts] == ["step", "step", "steps", "steps"],
                "charts are missing")
    for _, colours in page.pixels():
        page.expect(colours > 8, f"a chart has only {colours} colours")
    return charts[:2]


def settle(page):
    """Canvases that are read often are drawn by the processor, which smooths lines in another way.
    Reads them until then, so that equal drawings have equal pixels."""
    for choice in ("dark", "light", "dark", "light", "auto"):
        page.click(f"[data-theme-choice={choice}]")
        page.frame()
        page.pixels()


def first_forward(chart, lane_name):
    """Lane, begin and end of the first forward of a lane."""
    lane = next(lane for lane in chart["lanes"] if lane["name"] == lane_name)
    begin, jobs = 0, lane["jobs"]
    for i in range(0, len(jobs), 7):
        begin += jobs[i]
        if chart["texts"][jobs[i + 3]] == "forward":
            return lane, begin, begin + jobs[i + 1]
    raise LookupError(lane_name)


def check_scale(page, charts):
    """Where times are in both charts: computed here from the data, not by the page's script."""
    before = max(chart["before"] for chart in charts)
    whole = max(before - chart["before"] + chart["length"] for chart in charts)
    labels = max(chart["labels"]["width"] for chart in charts)

    def scroll_to(number, lane):
        page.js("document.querySelectorAll('canvas')[arguments[0]].scrollIntoView({block: 'center'});"
                f"document.querySelectorAll('.view')[arguments[0]].scrollTop = {lane['y']} - 60",
                number)
        page.frame()
        page.frame()  # the other chart scrolls after this one

    def said_at(number, lane, time):
        left, top, width, scrolled = page.js(
            "const b = document.querySelectorAll('canvas')[arguments[0]].getBoundingClientRect();"
            "const view = document.querySelectorAll('.view')[arguments[0]];"
            "return [b.x, b.y, b.width, view.scrollTop]", number)
        share = (before - charts[number]["before"] + time) / whole
        page.mouse("mouseMoved", left + labels + share * (width - labels),
                   top + lane["y"] + lane["h"] / 2 - scrolled)
        return page.tip()

    for number, own, other, change in ((0, "10.00 ms", "13.00 ms", "+30.0 %"),
                                       (1, "13.00 ms", "10.00 ms", "-23.1 %")):
        lane, begin, end = first_forward(charts[number], "rank 2")
        scroll_to(number, lane)
        untouched = page.pixels()[1 - number][0]
        said = said_at(number, lane, (begin + end) / 2)
        run = "BA"[number]
        for words in ("kind forward", f"takes {own}", f"in {run} takes {other} ({change})"):
            page.expect(words in said, f"the tip of a job lacks {words!r}: {said!r}")
        page.expect(page.pixels()[1 - number][0] != untouched, "the same job is not framed")
        page.mouse("mouseMoved", 2, 2)
        page.expect(page.tip() == "", "a tip stays behind")
        page.expect(page.pixels()[1 - number][0] == untouched, f"the frame of a job of {number} stays behind")


def check_zoom(page):
    page.frame()
    whole = [each[0] for each in page.pixels()[:2]]
    page.click("figure.chart .tools button")
    page.frame()
    for number, (before, after) in enumerate(zip(whole, page.pixels())):
        page.expect(after[0] != before, f"chart {number} does not zoom with the other one")
    page.js("document.querySelectorAll('figure.chart')[1].focus()")
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent",
                                 {"type": "keyDown", "key": "0", "text": "0"})
    page.frame()
    page.expect([each[0] for each in page.pixels()[:2]] == whole,
                "the second chart does not set both back")


def check_reasons(page):
    """Reasons add up to the difference, the last row of the sums, however they are sorted."""
    def numbers(section, column):
        return page.js(f"return [...document.querySelectorAll('#{section} tbody tr')].map("
                       f"row => +row.cells[{column}].dataset.v)")

    reasons = numbers("reasons", 1)
    page.expect(sum(reasons) == numbers("sums", 3)[-1] > 0, f"reasons: {reasons}")
    page.click("#reasons th:nth-child(2) button")
    page.click("#reasons th:nth-child(2) button")
    page.expect(numbers("reasons", 1) == sorted(reasons), "the reasons are not sorted")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipe_trace", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    a = make_logs(options.pipe_trace, folder / "run a", "1")
    b = make_logs(options.pipe_trace, folder / "run b", "1.3")
    add_evil(b)
    path = folder / "the diff.html"
    subprocess.run([options.pipe_trace, "diff", a, b, "-o", path, "--quiet"], check=True)
    with Page(path) as page:
        charts = check_charts(page)
        check_markup(page, "PipeTrace diff")
        settle(page)
        check_zoom(page)
        check_scale(page, charts)
        check_reasons(page)
        check_colours(page)
        check_print(page, folder)
        for width, colours in ((1280, "light"), (2560, "dark")):
            page.look(colours)
            set_window(page.browser, width, 900)
            page.draw(folder / f"{path.stem}, {width}, {colours}.png")
            overflow = page.js("return document.documentElement.scrollWidth") - width
            page.expect(overflow <= 0, f"{overflow} pixels do not fit into {width}")
        page.check_quiet()
    print("\n".join(page.wrong) or "the page is well")
    return 1 if page.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
