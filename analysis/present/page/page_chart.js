// The charts of pages: what is under the pointer, zoom, and what is drawn. See page_drawing.js.

/** A length of time in four digits: "12.35 ms". */
function duration(ns) {
  for (const [unit, name] of [[1e9, " s"], [1e6, " ms"], [1e3, " us"]]) {
    if (Math.abs(ns) < unit * 0.99995) continue;
    const digits = Math.floor(Math.log10(Math.abs(ns / unit))) + 1;
    return (ns / unit).toFixed(Math.max(0, 4 - digits)) + name;
  }
  return Math.round(ns) + " ns";
}

/** What stands beside the pointer: a heading, and lines of a name and a value. */
const tip = {
  box: make("div", {className: "tip", hidden: true, role: "status"}),
  show(heading, lines, x, y) {
    const list = make("div");
    list.append(...lines.flat().map(text => make("span", {textContent: text})));
    this.box.replaceChildren(make("b", {textContent: heading}), list);
    this.box.hidden = false;
    const {width, height} = this.box.getBoundingClientRect();
    const beside = (at, size, room) => Math.max(at + 14 + size > room ? at - 14 - size : at + 14, 4);
    this.box.style.left = beside(x, width, innerWidth) + "px";
    this.box.style.top = beside(y, height, innerHeight) + "px";
  },
  hide() { this.box.hidden = true; }
};
document.body.append(tip.box);

/**
 * A chart: its labels on the left, and beside them the part of its drawing that is zoomed to. Charts
 * of several runs in one element of the class "linked" have one time scale, on which their steps
 * begin together. They zoom and scroll together, and show the same jobs.
 */
class Chart {
  constructor(figure) {
    this.figure = figure;
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.player = new Player(this.data);
    this.zooms = this.data.kind === "step";
    this.run = figure.dataset.run || "";
    const group = figure.closest(".linked");
    this.linked = group ? page.charts.filter(each => each.figure.closest(".linked") === group) : [];
    for (const other of this.linked) other.linked.push(this);
    this.linked = [...this.linked, this];
    // `from` and `span`: the part that is shown, as shares of the time of all linked charts.
    Object.assign(this, {from: 0, span: 1, hit: null, isPinned: false});
    this.total = this.data.head + this.data.height;
    this.labels = this.data.labels.draw;
    this.view = make("div", {className: this.zooms ? "view zooms" : "view"});
    this.canvas = make("canvas", {role: "img", ariaLabel: figure.getAttribute("aria-label")});
    this.spacer = make("div");
    this.view.append(this.canvas, this.spacer);
    if (this.zooms) figure.tabIndex = 0;
    if (this.zooms && this.linked.length === 1) this.addTools(!!group);
    figure.append(this.view);
    const on = (type, act, options) => this.canvas.addEventListener(type, act, options);
    on("pointermove", event => this.move(event));
    on("pointerleave", () => this.isPinned || this.point(null));
    if (this.zooms) {
      on("pointerdown", event => this.press(event));
      on("pointerup", event => this.release(event));
      on("wheel", event => this.wheel(event), {passive: false});
      figure.addEventListener("keydown", event => this.key(event));
    }
    this.view.addEventListener("scroll", () => this.scroll());
    new ResizeObserver(() => this.redraw()).observe(figure);
  }
  addTools(isLinked) {
    const tools = make("div", {className: "tools"});
    for (const [text, title, act] of [["+", "zoom in", () => this.zoom(2)],
                                      ["\u2212", "zoom out", () => this.zoom(0.5)],
                                      ["fit", "show the whole step", () => this.show(0, 1)]]) {
      tools.append(make("button", {type: "button", title, textContent: text, onclick: act}));
    }
    tools.append("Ctrl and the wheel zoom, dragging moves; keys: +, \u2212, 0, arrows. " +
                 (isLinked ? "All runs have one time scale; point at a job to see it in each. " : "") +
                 "Point at a bubble to see its cause; a click keeps it.");
    this.figure.append(tools);
  }
  left() { return Math.max(...this.linked.map(each => each.data.labels.width)); }
  plotWidth() { return Math.max(this.width - this.left(), 1); }

  /** Where the drawing lies in the time of all linked charts: its begin and its length as shares. */
  place() {
    const {before, length} = this.data;
    if (this.linked.length === 1) return {begin: 0, part: 1};
    const first = Math.max(...this.linked.map(each => each.data.before));
    const whole = Math.max(...this.linked.map(({data}) => first - data.before + data.length));
    return {begin: (first - before) / whole, part: length / whole};
  }
  /** Pixels of a share of the drawing, and back. */
  toX(share) {
    const {begin, part} = this.place();
    return this.left() + (begin + share * part - this.from) / this.span * this.plotWidth();
  }
  shareAt(x) {
    const {begin, part} = this.place();
    return (this.shownAt(x) - begin) / part;
  }
  /** The share of the time of all linked charts that is at `x`. */
  shownAt(x) { return this.from + (x - this.left()) / this.plotWidth() * this.span; }
  /** Pixels of the whole drawing. */
  drawnWidth() { return this.plotWidth() * this.place().part / this.span; }

  /** The widest level that is no wider than the drawing; the next one where half is too narrow. */
  level() {
    const {levels} = this.data, needed = this.drawnWidth();
    let at = Math.max(levels.findLastIndex(level => level.width <= needed), 0);
    if (needed > 2 * levels[at].width && at + 1 < levels.length) ++at;
    return levels[at];
  }
  scroll() {
    for (const other of this.linked) {
      if (other.total === this.total) other.view.scrollTop = this.view.scrollTop;
    }
    this.redraw();
  }
  redraw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.draw(); });
  }
  draw() {
    // Printed as wide as the paper, a chart is no higher than one page.
    const printed = Math.max(1400, this.total * 1.8);
    const scale = page.printing ? Math.min(2, 6000 / printed) : devicePixelRatio || 1;
    const most = page.printing ? Infinity : parseFloat(getComputedStyle(this.view).maxHeight) - 2;
    this.width = page.printing ? printed : this.view.clientWidth || 1000;
    this.height = Math.min(this.total, most);
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.width = page.printing ? "100%" : this.width + "px";
    this.canvas.style.height = page.printing ? "auto" : this.height + "px";
    this.spacer.style.height = (page.printing ? 0 : this.total - this.height) + "px";
    const context = this.canvas.getContext("2d"), {head} = this.data, level = this.level();
    const scrolled = page.printing ? 0 : this.view.scrollTop, drawn = this.drawnWidth();
    const begin = this.toX(0), toX = x => begin + x / level.width * drawn;
    const fits = level.width > drawn;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = page.printing ? "#ffffff" : getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, this.width, this.height);
    const part = (x, y, width, height, moved, draw) => {
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
      context.translate(0, -moved);
      draw([x, x + width, y + moved, y + height + moved]);
      context.restore();
    };
    part(0, head, this.left(), this.height, scrolled, view =>
      this.player.play(context, this.labels, x => x, view, false));
    part(this.left(), head, this.width, this.height, scrolled, view => {
      this.player.play(context, level.head, toX, view, fits);
      this.player.play(context, level.rows, toX, view, fits);
      if (!page.printing) this.outline(context);
    });
    part(this.left(), 0, this.width, head, 0, view =>
      this.player.play(context, level.head, toX, view, fits));
  }
  /** The events of a lane with their times, from the begin of what the chart shows. */
  events(lane) {
    if (lane.events) return lane.events;
    const read = (list, size) => {
      const events = [];
      for (let i = 0, begin = 0; i < list.length; i += size) {
        const fields = list.slice(i, i + size);
        begin += fields[0];
        events.push({lane, begin, end: begin + fields[1], fields, isIdle: size === 6});
      }
      return events;
    };
    return lane.events = {jobs: read(lane.jobs, 7), idle: read(lane.idle, 6)};
  }
  /** The event under a point of the canvas: a job, else a bubble, else what is next to it. */
  eventAt(x, y) {
    const inRows = y + this.view.scrollTop;
    const lane = this.data.lanes.find(each => each.y <= inRows && inRows < each.y + each.h);
    if (!lane || y < this.data.head || x < this.left()) return null;
    if (!this.zooms) {
      const column = Math.floor(this.shareAt(x) * this.data.columns.length);
      return column < lane.cells.length ? {lane, column} : null;
    }
    const time = this.shareAt(x) * this.data.length;
    const near = 1.5 / this.drawnWidth() * this.data.length;
    const within = (events, margin) =>
      events.find(event => event.begin - margin <= time && time < event.end + margin);
    const {jobs, idle} = this.events(lane);
    return within(jobs, 0) || within(idle, 0) || within(jobs, near) || within(idle, near) || null;
  }
  /** Heading and lines of the tip of an event. */
  words(event) {
    const {texts, columns, before, since} = this.data, {lane, fields} = event;
    if (!this.zooms) {
      const cell = lane.cells[event.column], isLength = typeof cell === "string";
      const value = isLength ? cell : cell < 0 ? "no job" : (cell / 10).toFixed(1) + " %";
      return [isLength ? columns[event.column] : lane.name + ", " + columns[event.column],
              [[isLength ? "length" : "bubble ratio", value]]];
    }
    const begin = event.begin - before;
    const times = [["on", lane.name], ["takes", duration(event.end - event.begin)],
                   ["begins", duration(begin) + " into the step"],
                   ["", duration(begin + since) + " into the run"]];
    if (event.isIdle) {
      const [name, meaning] = texts[fields[2]].split(": ", 2), culprit = texts[fields[3]];
      const lines = [["because", meaning || "nobody knows"]];
      if (culprit) lines.push(["culprit", culprit + (fields[4] < 0 ? " (not in this chart)" : "")]);
      return ["bubble: " + (name || "idle"), lines.concat(times)];
    }
    const lines = [["kind", texts[fields[3]]], ["stage", fields[4]], ["peer rank", fields[5]],
                   ["step", fields[6]]].filter(([, value]) => value !== -1);
    const twins = this.twins(event).filter(([, job]) => job).map(([chart, job]) => {
      const length = job.end - job.begin, more = (length / (event.end - event.begin) - 1) * 100;
      return ["in " + chart.run, `takes ${duration(length)} (${more < 0 ? "" : "+"}${more.toFixed(1)} %)`];
    });
    return [texts[fields[2]], lines.concat(times, twins)];
  }
  /** The other linked charts, each with the job of the same name on the same lane. */
  twins(event) {
    const textOf = ({data: {texts}}, {fields}) => [texts[fields[2]], texts[fields[3]], fields[4]].join();
    const others = this.linked.filter(other => other !== this);
    if (!event || event.isIdle) return others.map(other => [other, null]);
    const text = textOf(this, event);
    return others.map(other => {
      const lane = other.data.lanes.find(each => each.name === event.lane.name);
      return [other, lane && other.events(lane).jobs.find(job => textOf(other, job) === text)];
    });
  }
  culprit({isIdle, fields}) {
    const lane = isIdle && this.data.lanes[fields[4]];
    return lane ? this.events(lane).jobs[fields[5]] : null;
  }
  /**
   * Frames what is under the pointer and its culprit, with an arrow from one to the other; where
   * that is in a linked chart, the same job.
   */
  outline(context) {
    if (!this.zooms || !(this.hit || this.twin)) return;
    const frame = (event, color) => {
      const x = this.toX(event.begin / this.data.length), y = event.lane.y;
      const right = this.toX(event.end / this.data.length), height = event.lane.h;
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(right - x - 2, 1), height - 2);
      return {x: (Math.max(x, this.left()) + Math.min(right, this.width)) / 2, y: y + height / 2};
    };
    const from = frame(this.hit || this.twin, getComputedStyle(document.body).color);
    if (!this.hit) return;
    const culprit = this.culprit(this.hit);
    if (!culprit) return;
    const to = frame(culprit, getComputedStyle(this.canvas).color);
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const path = (...points) => {
      context.beginPath();
      for (const [along, aside] of points) {
        context.lineTo(to.x - along * dx - aside * dy, to.y - along * dy + aside * dx);
      }
    };
    path([length, 0], [8, 0]);
    context.stroke();
    path([0, 0], [10, 5], [10, -5]);
    context.fill();
  }
  point(event, x, y) {
    this.hit = event;
    for (const [other, job] of this.zooms ? this.twins(event) : []) {
      Object.assign(other, {hit: null, twin: job, isPinned: false});
      other.redraw();
    }
    this.twin = null;
    if (event) tip.show(...this.words(event), x, y);
    else tip.hide();
    if (this.zooms) this.redraw();
  }
  move(event) {
    const moved = this.dragged && event.buttons ? event.offsetX - this.dragged.x : 0;
    this.wasMoved = this.wasMoved || Math.abs(moved) > 3;
    const share = moved / this.plotWidth() * this.span;
    if (moved && this.wasMoved) this.show(this.dragged.from - share, this.span);
    if (!moved && !this.isPinned) {
      this.point(this.eventAt(event.offsetX, event.offsetY), event.clientX, event.clientY);
    }
  }
  press(event) {
    Object.assign(this, {dragged: {x: event.offsetX, from: this.from}, wasMoved: false});
    this.canvas.setPointerCapture(event.pointerId);
  }
  release(event) {
    this.dragged = null;
    if (this.wasMoved) return;
    const hit = this.eventAt(event.offsetX, event.offsetY);
    this.isPinned = !!hit && !(this.isPinned && this.hit === hit);
    this.point(hit, event.clientX, event.clientY);
  }
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(2 ** (-event.deltaY / 200), event.offsetX);
  }
  key(event) {
    const by = share => this.show(this.from + share * this.span, this.span);
    const acts = {"+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5),
                  "0": () => this.show(0, 1), ArrowLeft: () => by(-0.25), ArrowRight: () => by(0.25),
                  Escape: () => { this.isPinned = false; this.point(null); }};
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  }
  /** Makes everything `factor` times as wide; what is at `x` stays there. */
  zoom(factor, x = this.left() + this.plotWidth() / 2) {
    const share = this.shownAt(x), span = this.limited(this.span / factor);
    this.show(share - (share - this.from) / this.span * span, span);
  }
  limited(span) {
    const widest = this.data.levels[this.data.levels.length - 1].width;
    return Math.min(1, Math.max(span, this.plotWidth() * this.place().part / (4 * widest)));
  }
  show(from, span) {
    const shown = this.limited(span);
    for (const chart of this.linked) {
      Object.assign(chart, {span: shown, from: Math.min(Math.max(from, 0), 1 - shown)});
      chart.redraw();
    }
  }
}
