#!/usr/bin/env python3
"""Opens the page of `pipe-trace report -o NAME.html` in Chromium and uses it as people do.

use: check_report.py PIPE_TRACE FOLDER [--run LOGS]...

The run is a simulated one with a slow stage and a slow link; a job in it has a name that is markup.
FOLDER gets its logs, the page, and pictures of it. The pages of the runs of --run are opened, too.
Exit code 0: no error in the console, no request beside the file itself, and tooltips, zoom, sorting,
copying, colours and printing do what they should.
"""

import argparse
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import time

from viewers import set_window, start_browser

EVIL = "</script><img src=x onerror=document.title='evil'>"


def make_logs(pipe_trace, folder):
    """1F1B on 4 ranks, with its slow stage and link; rank 1's optimizer has the name EVIL."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([pipe_trace, "plan", "--schedule", "1F1B", "--ranks", "4", "--micro-batches", "8",
                    "--forward-ms", "10", "--backward-ms", "20", "--transfer-ms", "0.05", "--lr-ms",
                    "0.1", "--optimizer-ms", "2", "--steps", "5", "--scale", "stage=3:1.2", "--link",
                    "0-1=3ms", "-o", f"{folder}/"], check=True, capture_output=True)
    log = folder / "workerlog.1"
    text = log.read_text()
    assert "type = optimizer" in text
    log.write_text(text.replace("type = optimizer", "type = " + json.dumps(EVIL)))
    return folder


class Page:
    """A page in the browser, and what is wrong with it."""

    def __init__(self, path, width=1280, height=900):
        self.path = path
        self.wrong = []
        self.browser = start_browser(width, height, logs={"browser": "ALL", "performance": "ALL"})
        self.browser.set_script_timeout(120)

    def __enter__(self):
        self.look("light")
        begin = time.monotonic()
        self.browser.get(self.path.as_uri())
        print(f"{self.path}: {self.path.stat().st_size} bytes, open after "
              f"{time.monotonic() - begin:.2f} s")
        self.expect(self.js("return document.documentElement.dataset.ready") == "true",
                    "the script did not end")
        return self

    def __exit__(self, *_):
        self.browser.quit()

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def expect(self, condition, otherwise):
        if not condition:
            self.wrong.append(f"{self.path.name}: {otherwise}")

    def look(self, colours):
        """The colours that the browser prefers."""
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": colours}]})

    def click(self, selector):
        self.js("document.querySelector(arguments[0]).click()", selector)

    def draw(self, path):
        """A picture of the whole page."""
        width = self.js("return innerWidth")
        height = min(self.js("return document.documentElement.scrollHeight"), 6000)
        set_window(self.browser, width, height)
        self.frame()
        self.browser.save_screenshot(str(path))
        set_window(self.browser, width, 900)
        self.frame()

    def frame(self):
        """Waits until the page has drawn what it has to."""
        self.browser.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")

    def charts(self):
        return [json.loads(text) for text in self.js(
            "return [...document.querySelectorAll('figure.chart script')].map(s => s.textContent)")]

    def box(self):
        """The canvas of the first chart, in the window."""
        self.js("document.querySelector('canvas').scrollIntoView({block: 'center'})")
        self.frame()
        return self.js("const b = document.querySelector('canvas').getBoundingClientRect();"
                       "return [b.x, b.y, b.width, b.height]")

    def mouse(self, kind, x, y, **more):
        self.browser.execute_cdp_cmd("Input.dispatchMouseEvent",
                                     {"type": kind, "x": x, "y": y, **more})
        self.frame()

    def tip(self):
        return self.js("const t = document.querySelector('.tip');"
                       "return t.hidden ? '' : t.innerText.replace(/\\s+/g, ' ')")

    def pixels(self):
        """A number for what each canvas shows, and how many colours are in it."""
        return self.js("""return [...document.querySelectorAll('canvas')].map(canvas => {
            const data = new Uint32Array(canvas.getContext('2d').getImageData(
                0, 0, canvas.width, canvas.height).data.buffer);
            let sum = 0;
            for (let i = 0; i < data.length; ++i) sum = (sum * 31 + data[i]) >>> 0;
            return [sum, new Set(data).size];
        })""")

    def check_quiet(self):
        """No error, and no request but that of the file."""
        errors = [entry["message"] for entry in self.browser.get_log("browser")
                  if "willReadFrequently" not in entry["message"]]  # pixels() is meant
        self.expect(not errors, f"errors in the console: {errors}")
        requests = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                requests.append(message["params"]["request"]["url"])
        self.expect(requests == [self.path.as_uri()], f"requests: {requests}")


def idle_times(chart):
    """(lane, begin, end, class, culprit) of each bubble, in times of the chart."""
    for lane in chart["lanes"]:
        begin = 0
        idle = lane["idle"]
        for i in range(0, len(idle), 6):
            step, length, name, culprit = idle[i:i + 4]
            begin += step
            yield lane, begin, begin + length, chart["texts"][name], chart["texts"][culprit]


def check_charts(page):
    charts = page.charts()
    page.expect([chart["kind"] for chart in charts] == ["step", "steps"], "charts are missing")
    for _, colours in page.pixels():
        page.expect(colours > 8, f"a chart has only {colours} colours")
    return charts[0]


def check_tips_and_zoom(page, chart):
    """The longest bubble that stage 3 causes: its tip says so, also where it is zoomed to."""
    lane, begin, end, _, culprit = max(
        (each for each in idle_times(chart) if each[4].startswith(("3F", "3B"))),
        key=lambda each: each[2] - each[1])
    left, top, width, _ = page.box()
    labels = chart["labels"]["width"]

    def point(from_share, span):
        share = ((begin + end) / 2 / chart["length"] - from_share) / span
        if not 0 <= share <= 1:
            return None
        page.mouse("mouseMoved", left + labels + share * (width - labels),
                   top + lane["y"] + lane["h"] / 2)
        return page.tip()

    said = point(0, 1)
    for words in ("bubble: imbalance", "because a stage is slower than the others",
                  f"culprit {culprit}", f"on {lane['name']}"):
        page.expect(words in said, f"the tip of a bubble lacks {words!r}: {said!r}")
    whole = page.pixels()[0][0]
    page.mouse("mousePressed", left + labels - 30, top + 60, button="left", clickCount=1)
    page.mouse("mouseReleased", left + labels - 30, top + 60, button="left", clickCount=1)
    page.expect(page.tip() == "", "a tip stays where nothing is")
    # Twice as wide around the middle, until the bubble would be outside.
    span = 1
    while span > 1 / 8 and abs((begin + end) / 2 / chart["length"] - 0.5) < span / 4:
        page.click("figure.chart .tools button")
        span /= 2
    page.frame()
    zoomed = point(0.5 - span / 2, span)
    page.expect(zoomed == said, f"zoomed to 1/{1 / span:g}: {zoomed!r} in place of {said!r}")
    if span < 1:
        page.expect(page.pixels()[0][0] != whole, "zooming changes nothing")
    page.mouse("mouseWheel", left + width / 2, top + 100, deltaX=0, deltaY=-200, modifiers=2)
    page.frame()
    page.expect(page.pixels()[0][0] != whole, "the wheel does not zoom")
    page.click("figure.chart .tools button:nth-child(3)")
    page.mouse("mouseMoved", 2, 2)
    page.expect(page.tip() == "", "a tip stays behind")
    page.js("document.querySelector('figure.chart').focus()")
    before = page.pixels()[0][0]
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent",
                                 {"type": "keyDown", "key": "+", "text": "+"})
    page.frame()
    page.expect(page.pixels()[0][0] != before, "the key + does not zoom")
    page.click("figure.chart .tools button:nth-child(3)")
    page.frame()
    page.expect(page.pixels()[0][0] == before, "fit does not show the whole step again")


def check_tables(page):
    page.browser.execute_cdp_cmd("Browser.grantPermissions", {
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})

    def times():
        return page.js("return [...document.querySelectorAll('#ranks tbody tr')].map("
                       "row => +row.cells[3].dataset.v)")

    idle = sorted(times())
    page.expect(len(idle) == 4, f"the table of ranks has {len(idle)} rows")
    page.click("#ranks th:nth-child(4) button")
    page.expect(times() == idle[::-1], f"idle time is not sorted: {times()}")
    page.click("#ranks th:nth-child(4) button")
    page.expect(times() == idle, f"idle time is not sorted the other way: {times()}")
    page.expect(page.js("return document.querySelector('#ranks th:nth-child(4)').ariaSort") ==
                "ascending", "the column does not say how it is sorted")
    page.click("#ranks .copy")
    copied = page.browser.execute_async_script(
        "setTimeout(() => navigator.clipboard.readText().then(arguments[0], arguments[0]), 200)")
    rows = [line.split("\t") for line in str(copied).splitlines()]
    page.expect(rows and rows[0][:4] == ["rank", "time", "busy (ns)", "idle (ns)"],
                f"copied: {copied!r}")
    page.expect([float(row[3]) for row in rows[1:]] == idle, f"copied: {copied!r}")


def check_wide_tables(page):
    """Headings wrap before a table is cut; one that is cut scrolls, and its first column stays."""
    left, right, cut = page.js("""
        const frame = document.querySelector('#ranks .scroll'), first = frame.querySelector('td');
        frame.style.maxWidth = '22rem';
        frame.scrollLeft = 10000;
        const left = first.getBoundingClientRect().left - frame.getBoundingClientRect().left;
        const last = frame.querySelector('tr:last-child td:last-child').getBoundingClientRect();
        const right = frame.getBoundingClientRect().right - last.right;
        frame.style.maxWidth = '';
        frame.scrollLeft = 0;
        const wide = document.querySelector('#step-table .scroll'), table = wide.firstElementChild;
        wide.style.width = table.offsetWidth * .85 + 'px';
        const cut = wide.scrollWidth - wide.clientWidth;
        wide.style.width = '';
        return [left, right, cut];""")
    page.expect(abs(left) < 3, f"the first column is {left} pixels from the left of a table")
    page.expect(abs(right) < 3, f"the last column ends {right} pixels off where it is scrolled to")
    page.expect(cut <= 0, f"{cut} pixels of a table are cut where its headings could wrap")


def brightness(page):
    numbers = page.js("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")
    pixel = page.js("return [...document.querySelectorAll('canvas')[1].getContext('2d')"
                    ".getImageData(1, 1, 1, 1).data]")
    return sum(map(int, numbers[:3])) / 3, sum(pixel[:3]) / 3


def check_colours(page):
    for choice, media, is_dark in (("auto", "light", False), ("auto", "dark", True),
                                   ("light", "dark", False), ("dark", "light", True),
                                   ("auto", "light", False)):
        page.look(media)
        page.click(f"[data-theme-choice={choice}]")
        page.frame()
        for ground in brightness(page):
            page.expect((ground < 128) == is_dark,
                        f"choice {choice} where the browser is {media}: ground {ground:.0f}")


def check_print(page, folder):
    page.click("[data-theme-choice=dark]")
    pdf = base64.b64decode(page.browser.execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})["data"])
    (folder / "printed.pdf").write_bytes(pdf)
    page.click("[data-theme-choice=auto]")
    page.frame()
    page.expect(pdf.startswith(b"%PDF") and len(pdf) > 20_000, f"a PDF of {len(pdf)} bytes")
    if shutil.which("pdftoppm"):
        subprocess.run(["pdftoppm", "-r", "60", "-png", folder / "printed.pdf", folder / "printed"],
                       check=True)


def check_markup(page, title):
    page.expect(page.js("return document.images.length") == 0, "a name has become an image")
    page.expect(page.js("return document.title").endswith(title),
                "a name has run as a script")
    page.expect(any(EVIL in chart["texts"] for chart in page.charts()),
                "the name that is markup is not in the chart")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipe_trace", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--run", type=pathlib.Path, action="append", default=[])
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    logs = make_logs(options.pipe_trace, folder / "made logs")
    for number, run in enumerate([logs, *options.run]):
        path = folder / ("the report.html" if run == logs else f"report {number}.html")
        subprocess.run([options.pipe_trace, "report", run, "-o", path, "--quiet"], check=True)
        with Page(path) as page:
            chart = check_charts(page)
            if run == logs:
                check_markup(page, "PipeTrace report")
                check_tips_and_zoom(page, chart)
                check_tables(page)
                check_wide_tables(page)
                check_colours(page)
                check_print(page, folder)
            for width, colours in ((1280, "light"), (2560, "dark")):
                page.look(colours)
                set_window(page.browser, width, 900)
                page.draw(folder / f"{path.stem}, {width}, {colours}.png")
            page.check_quiet()
            wrong += page.wrong
    print("\n".join(wrong) or "all pages are well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
