// Draws the charts of report pages, sorts and copies their tables, and switches their colours.
"use strict";
(() => {
const root = document.documentElement;
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const charts = [];
let printing = false;

const isDark = () => !printing && (root.dataset.theme || (darkQuery.matches && "dark")) === "dark";
const make = (name, values) => Object.assign(document.createElement(name), values);

/** The numbers of a text (chart/script/script_numbers.h). */
function numbersIn(text) {
  const digitOf = new Uint8Array(128), numbers = [];
  for (let c = 32, digit = 0; c < 127; ++c) {
    if (!'"&<>\\'.includes(String.fromCharCode(c))) digitOf[c] = digit++;
  }
  for (let i = 0, value = 0, unit = 1; i < text.length; ++i) {
    const digit = digitOf[text.charCodeAt(i)];
    value += digit % 45 * unit;
    unit *= 45;
    if (digit >= 45) continue;
    numbers.push(value % 2 ? -(value + 1) / 2 : value / 2);
    value = 0;
    unit = 1;
  }
  return numbers;
}

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

/** Draws the commands of chart/script/script_drawing.h. */
class Player {
  constructor(data) { this.data = data; }
  color(number) { return this.data.colors[number][isDark() ? 1 : 0]; }

  /** A text that is wider than its box becomes its last number, or is left out, if `fits`. */
  text(context, number, style, left, right, y, height, fits) {
    let text = this.data.texts[number];
    const [size, bold, align, color] = this.data.styles[style];
    context.font = (bold ? "bold " : "") + size +
      'px "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif';
    const isTooWide = () => fits && context.measureText(text).width > right - left;
    if (isTooWide()) text = (/^\d+[A-Z](\d+)$/.exec(text) || ["", ""])[1];
    if (isTooWide()) return;
    context.fillStyle = this.color(color);
    context.textAlign = ["left", "center", "right"][align];
    context.fillText(text, [left, (left + right) / 2, right][align], y + height / 2 + size * 0.365);
  }
  /** Diagonal lines over a rectangle, which go on from one rectangle into the next. */
  hatch(context, left, right, y, height, stroke) {
    const spacing = 6;
    context.beginPath();
    for (let c = Math.ceil((left + y) / spacing) * spacing; c < right + y + height; c += spacing) {
      const from = Math.max(left, c - y - height), to = Math.min(right, c - y);
      context.moveTo(from, c - from);
      context.lineTo(to, c - to);
    }
    context.strokeStyle = stroke;
    context.lineWidth = 1;
    context.stroke();
  }
  /** `toX` maps the commands' x to pixels; `view`: left, right, top and bottom of what is seen. */
  play(context, list, toX, [viewLeft, viewRight, viewTop, viewBottom], fits) {
    let x = 0, y = 0, height = 0;
    for (let i = 0; i < list.length;) {
      const kind = list[i];
      if (kind === 0) { y = list[i + 1]; height = list[i + 2]; i += 3; continue; }
      if (kind === 5 || kind === 6) { i = this.shape(context, list, i, toX); continue; }
      x += list[i + 1];
      const at = i + 3, left = Math.round(toX(x));
      const right = Math.max(Math.round(toX(x + list[i + 2])), left + 1);
      i += kind === 1 ? 4 : kind === 2 ? 6 : 5;
      if (right < viewLeft || left > viewRight || y > viewBottom || y + height < viewTop) continue;
      if (kind === 4) {
        this.text(context, list[at], list[at + 1], left, right, y, height, fits);
        continue;
      }
      const from = Math.max(left, viewLeft), to = Math.min(right, viewRight);
      context.fillStyle = this.color(list[at]);
      if (kind === 7) context.globalAlpha = list[at + 1] / 100;
      context.fillRect(from, y, to - from, height);
      context.globalAlpha = 1;
      if (kind === 3) this.hatch(context, from, to, y, height, this.color(list[at + 1]));
      if (kind === 2) this.text(context, list[at + 1], list[at + 2], from, to, y, height, true);
    }
  }
  shape(context, list, i, toX) {
    const isLine = list[i] === 5, head = isLine ? i + 5 : i + 3, count = list[head - 1];
    context.beginPath();
    for (let k = head; k < head + 2 * count; k += 2) context.lineTo(toX(list[k] / 10), list[k + 1] / 10);
    context.fillStyle = context.strokeStyle = this.color(list[i + 1]);
    context.lineWidth = list[i + 2] / 10;
    context.setLineDash(isLine && list[i + 3] ? [4, 3] : []);
    if (isLine) context.stroke();
    else context.fill();
    context.setLineDash([]);
    return head + 2 * count;
  }
}

/** A chart: its labels on the left, and beside them the part of its drawing that is zoomed to. */
class Chart {
  constructor(figure) {
    this.figure = figure;
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.player = new Player(this.data);
    this.zooms = this.data.kind === "step";
    // `from` and `span`: the part that is shown, as shares of the whole.
    Object.assign(this, {from: 0, span: 1, hit: null, isPinned: false});
    this.total = this.data.head + this.data.height;
    this.labels = numbersIn(this.data.labels.draw);
    this.view = make("div", {className: this.zooms ? "view zooms" : "view"});
    this.canvas = make("canvas", {role: "img", ariaLabel: figure.getAttribute("aria-label")});
    this.spacer = make("div");
    this.view.append(this.canvas, this.spacer);
    if (this.zooms) this.addTools();
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
    this.view.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(figure);
    this.draw();
  }
  addTools() {
    const tools = make("div", {className: "tools"});
    for (const [text, title, act] of [["+", "zoom in", () => this.zoom(2)],
                                      ["\u2212", "zoom out", () => this.zoom(0.5)],
                                      ["fit", "show the whole step", () => this.show(0, 1)]]) {
      tools.append(make("button", {type: "button", title, textContent: text, onclick: act}));
    }
    tools.append("Ctrl and the wheel zoom, dragging moves; keys: +, \u2212, 0, arrows. " +
                 "Point at a bubble to see its cause; a click keeps it.");
    this.figure.append(tools);
    this.figure.tabIndex = 0;
  }
  left() { return this.data.labels.width; }
  plotWidth() { return Math.max(this.width - this.left(), 1); }
  toX(share) { return this.left() + (share - this.from) / this.span * this.plotWidth(); }
  shareAt(x) { return this.from + (x - this.left()) / this.plotWidth() * this.span; }

  /** The widest level that is no wider than the drawing; the next one where half is too narrow. */
  level() {
    const {levels} = this.data, needed = this.plotWidth() / this.span;
    let at = Math.max(levels.findLastIndex(level => level.width <= needed), 0);
    if (needed > 2 * levels[at].width && at + 1 < levels.length) ++at;
    const level = levels[at];
    level.lists ||= {head: numbersIn(level.head), rows: numbersIn(level.rows)};
    return level;
  }
  redraw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.draw(); });
  }
  draw() {
    const scale = printing ? 2 : devicePixelRatio || 1;
    const most = printing ? Infinity : Math.max(240, Math.min(innerHeight * 0.8, 900));
    this.width = printing ? 1400 : this.view.clientWidth || 1000;
    this.height = Math.min(this.total, most);
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.width = printing ? "100%" : this.width + "px";
    this.canvas.style.height = printing ? "auto" : this.height + "px";
    this.spacer.style.height = (printing ? 0 : this.total - this.height) + "px";
    const context = this.canvas.getContext("2d"), {head} = this.data, level = this.level();
    const scrolled = printing ? 0 : this.view.scrollTop, toX = x => this.toX(x / level.width);
    const fits = level.width > this.plotWidth() / this.span;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = printing ? "#ffffff" : getComputedStyle(document.body).backgroundColor;
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
      this.player.play(context, level.lists.head, toX, view, fits);
      this.player.play(context, level.lists.rows, toX, view, fits);
      if (this.hit && this.zooms && !printing) this.outline(context);
    });
    part(this.left(), 0, this.width, head, 0, view =>
      this.player.play(context, level.lists.head, toX, view, fits));
  }
  /** The events of a lane with their times, from the begin of what the chart shows. */
  events(lane) {
    if (lane.events) return lane.events;
    const read = (text, size) => {
      const list = numbersIn(text), events = [];
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
    const near = 1.5 / this.plotWidth() * this.span * this.data.length;
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
    return [texts[fields[2]], lines.concat(times)];
  }
  culprit({isIdle, fields}) {
    const lane = isIdle && this.data.lanes[fields[4]];
    return lane ? this.events(lane).jobs[fields[5]] : null;
  }
  /** Frames what is under the pointer and its culprit, with an arrow from one to the other. */
  outline(context) {
    const frame = (event, color) => {
      const x = this.toX(event.begin / this.data.length), y = event.lane.y;
      const right = this.toX(event.end / this.data.length), height = event.lane.h;
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(right - x - 2, 1), height - 2);
      return {x: (Math.max(x, this.left()) + Math.min(right, this.width)) / 2, y: y + height / 2};
    };
    const from = frame(this.hit, getComputedStyle(document.body).color);
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
    const share = this.shareAt(x), span = this.limited(this.span / factor);
    this.show(share - (share - this.from) / this.span * span, span);
  }
  limited(span) {
    const widest = this.data.levels[this.data.levels.length - 1].width;
    return Math.min(1, Math.max(span, this.plotWidth() / (4 * widest)));
  }
  show(from, span) {
    this.span = this.limited(span);
    this.from = Math.min(Math.max(from, 0), 1 - this.span);
    this.redraw();
  }
}

function sortBy(head) {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const isNumber = !head.classList.contains("t"), was = head.getAttribute("aria-sort");
  const sign = (was ? was === "ascending" : isNumber) ? -1 : 1;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
  const value = row => isNumber ? +row.cells[column].dataset.v : row.cells[column].textContent;
  const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", {numeric: true});
  body.append(...[...body.rows].sort((a, b) => sign * compare(value(a), value(b))));
}

/** The table for a spreadsheet: numbers in full, times in nanoseconds. */
function tableText(table) {
  const headOf = ({textContent, dataset}) => textContent + (dataset.unit ? ` (${dataset.unit})` : "");
  const textOf = ({textContent, dataset}) => dataset.v ?? textContent;
  const lineOf = (row, each) => [...row.cells].map(each).join("\t") + "\n";
  return lineOf(table.tHead.rows[0], headOf) +
         [...table.tBodies[0].rows].map(row => lineOf(row, textOf)).join("");
}

async function copy(button, text) {
  const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  button.textContent = isDone ? "copied" : "not allowed";
  setTimeout(() => { button.textContent = "copy"; }, 1200);
}

function redrawAll() { for (const chart of charts) chart.draw(); }

document.addEventListener("click", event => {
  const button = event.target.closest("button"), choice = button?.dataset.themeChoice;
  if (!button) return;
  if (choice) {
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    for (const other of button.parentNode.children) other.ariaPressed = String(other === button);
    redrawAll();
  } else if (button.closest("th")) {
    sortBy(button.closest("th"));
  } else if (button.classList.contains("copy")) {
    copy(button, tableText(button.parentNode.querySelector("table")));
  } else if (button.classList.contains("copy-text")) {
    copy(button, button.parentNode.querySelector("code").textContent);
  }
});
darkQuery.addEventListener("change", redrawAll);
addEventListener("beforeprint", () => { printing = true; redrawAll(); });
addEventListener("afterprint", () => { printing = false; redrawAll(); });
for (const figure of document.querySelectorAll("figure.chart")) charts.push(new Chart(figure));
root.dataset.ready = "true";
})();
