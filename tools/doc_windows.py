"""Windows of pipe-view in an X server without a display, for tools/doc_commands.py."""
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import time

PATIENCE = 60  # seconds until a window must show its jobs
NO_WINDOW = {"help", "man", "completions"}
NO_WINDOW_OPTIONS = {"--export", "--help", "-h", "--version", "-V"}


class NoScreen(Exception):
    """Windows cannot be shown or looked at."""


def opens_window(command):
    words = shlex.split(command, comments=True)
    if not words or words[0] != "pipe-view" or len(words) > 1 and words[1] in NO_WINDOW:
        return False
    return not any(w.split("=")[0] in NO_WINDOW_OPTIONS for w in words[1:])


def frame_buffer(path):
    """The pixels of a file that Xvfb keeps its screen in (XWD), as bytes of BGRX."""
    with open(path, "rb") as file:
        data = file.read()
    fields = struct.unpack(">25I", data[:100])
    return data[fields[0] + 12 * fields[19]:]


def end(process, first):
    """Ends a process that this program started."""
    if process.poll() is None:
        process.send_signal(first)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Screen:
    """Shows windows; without Xvfb by Qt's platform that draws nowhere."""

    def __init__(self, environment, work):
        self.environment, self.server, self.pixels = dict(environment), None, None
        self.folder = tempfile.mkdtemp(dir=work)
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.job_color = self.color_of_forwards()
        if not shutil.which("Xvfb"):
            print("no Xvfb here (Debian: xvfb): windows draw nowhere, and nobody looks at them")
            self.environment["QT_QPA_PLATFORM"] = "offscreen"
            return
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x900x24", "-nolisten", "tcp",
             "-fbdir", self.folder],
            pass_fds=[write], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        os.close(write)
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise NoScreen(f"Xvfb does not start: {self.server.stderr.read()}")
        self.environment.update(DISPLAY=f":{number}", QT_QPA_PLATFORM="xcb")
        self.pixels = os.path.join(self.folder, "Xvfb_screen0")

    def color_of_forwards(self):
        """As a picture of one forward has it, in the byte order of the screen."""
        picture = os.path.join(self.folder, "forward.svg")
        subprocess.run(["pipe-trace", "plan", "--schedule", "ForwardOnly", "--ranks", "1",
                        "--micro-batches", "1", "-o", picture],
                       env=self.environment, check=True, stdout=subprocess.DEVNULL)
        with open(picture, encoding="utf-8") as file:
            fills = re.findall(r'<rect [^>]*fill="#(\w{6})"', file.read())
        # Nothing else in that picture is as colourful.
        colors = [bytes.fromhex(fill)[::-1] for fill in fills]
        return max(colors, key=lambda color: max(color) - min(color))

    def show(self, command, folder):
        """Runs a command that opens a window until it shows jobs. Returns what went wrong."""
        process = subprocess.Popen(["bash", "-c", "exec " + command], cwd=folder,
                                   env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        deadline = time.monotonic() + (PATIENCE if self.pixels else 3)
        seen = False
        while not seen and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
            # Some hundred pixels of a row of jobs, not a line of an icon.
            seen = bool(self.pixels) and frame_buffer(self.pixels).count(self.job_color) > 500
        ended = process.poll()
        end(process, signal.SIGTERM)
        output = process.stdout.read()
        if ended is not None:
            return f"the window closed by itself, exit code {ended}: {output}"
        if self.pixels and not seen:
            return f"the window shows no jobs after {PATIENCE} s: {output}"
        print("the window shows jobs" if seen else "the window was opened")
        return None

    def close(self):
        if self.server:
            end(self.server, signal.SIGTERM)
