// Draws the charts of report pages, sorts and copies their tables, and switches their colours.
// The charts' commands are those of chart/script/script_drawing.h.
"use strict";
(() => {
const root = document.documentElement;
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const charts = [];
let printing = false;

const isDark = () => !printing &&
  (root.dataset.theme ? root.dataset.theme === "dark" : darkQuery.matches);

/** A length of time in four digits: "12.35 ms". */
function duration(ns) {
  const units = [[1e9, " s"], [1e6, " ms"], [1e3, " us"]];
  for (const [unit, name] of units) {
    if (Math.abs(ns) < unit * 0.99995) continue;
    const value = ns / unit, digits = Math.floor(Math.log10(Math.abs(value))) + 1;
    return value.toFixed(Math.max(0, 4 - digits)) + name;
  }
  return Math.round(ns) + " ns";
}

/** What stands beside the pointer: a heading, and lines of a name and a value. */
class Tip {
  constructor() {
    this.box = document.createElement("div");
    this.box.className = "tip";
    this.box.setAttribute("role", "status");
    this.box.hidden = true;
    document.body.append(this.box);
  }
  show(heading, lines, x, y) {
    const bold = document.createElement("b"), list = document.createElement("div");
    bold.textContent = heading;
    for (const [name, value] of lines) {
      for (const text of [name, value]) {
        list.append(Object.assign(document.createElement("span"), {textContent: text}));
      }
    }
    this.box.replaceChildren(bold, list);
    this.box.hidden = false;
    const {width, height} = this.box.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
    this.box.style.left = Math.max(left, 4) + "px";
    this.box.style.top = Math.max(top, 4) + "px";
  }
  hide() { this.box.hidden = true; }
}
const tip = new Tip();

/** Draws commands on a canvas. `toX` maps their x. */
class Player {
  constructor(data) { this.data = data; }
  color(number) { return this.data.colors[number][isDark() ? 1 : 0]; }

  /** Fills a rectangle with diagonal lines, which go on from one rectangle into the next. */
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

  /** `box`: in pixels. A text that is wider than it is left out if `fits`. */
  text(context, number, style, left, right, y, height, fits) {
    const text = this.data.texts[number], [size, bold, align, color] = this.data.styles[style];
    context.font = (bold ? "bold " : "") + size +
      'px "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif';
    if (fits && context.measureText(text).width > right - left) return;
    context.fillStyle = this.color(color);
    context.textAlign = ["left", "center", "right"][align];
    context.fillText(text, [left, (left + right) / 2, right][align], y + height / 2 + size * 0.365);
  }

  play(context, list, toX, view, fits) {
    const [viewLeft, viewRight, viewTop, viewBottom] = view;
    let x = 0, y = 0, height = 0;
    for (let i = 0; i < list.length;) {
      const kind = list[i];
      if (kind === 0) { y = list[i + 1]; height = list[i + 2]; i += 3; continue; }
      if (kind === 5 || kind === 6) { i = this.shape(context, list, i, toX); continue; }
      x += list[i + 1];
      const at = i + 3, left = Math.round(toX(x)), exact = Math.round(toX(x + list[i + 2]));
      i += kind === 1 ? 4 : kind === 2 ? 6 : 5;
      if (exact < viewLeft || left > viewRight || y > viewBottom || y + height < viewTop) continue;
      const right = Math.max(exact, left + 1);
      if (kind === 4) {
        this.text(context, list[at], list[at + 1], left, right, y, height, fits);
        continue;
      }
      context.fillStyle = this.color(list[at]);
      if (kind === 7) context.globalAlpha = list[at + 1] / 100;
      const from = Math.max(left, viewLeft), to = Math.min(right, viewRight);
      context.fillRect(from, y, to - from, height);
      context.globalAlpha = 1;
      if (kind === 3) this.hatch(context, from, to, y, height, this.color(list[at + 1]));
      if (kind === 2) this.text(context, list[at + 1], list[at + 2], from, to, y, height, true);
    }
  }

  shape(context, list, i, toX) {
    const isLine = list[i] === 5, color = this.color(list[i + 1]);
    const head = isLine ? i + 5 : i + 3, count = list[head - 1];
    context.beginPath();
    for (let k = 0; k < count; ++k) {
      context.lineTo(toX(list[head + 2 * k] / 10), list[head + 2 * k + 1] / 10);
    }
    if (isLine) {
      context.strokeStyle = color;
      context.lineWidth = list[i + 2] / 10;
      context.setLineDash(list[i + 3] ? [4, 3] : []);
      context.stroke();
      context.setLineDash([]);
    } else {
      context.fillStyle = color;
      context.fill();
    }
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
    this.from = 0;  // the part that is shown, as shares of the whole
    this.span = 1;
    this.hit = null;
    this.isPinned = false;
    this.total = this.data.head + this.data.height;
    this.view = document.createElement("div");
    this.view.className = this.zooms ? "view zooms" : "view";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", figure.getAttribute("aria-label"));
    this.spacer = document.createElement("div");
    this.view.append(this.canvas, this.spacer);
    if (this.zooms) this.addTools();
    figure.append(this.view);
    this.view.addEventListener("scroll", () => this.redraw());
    this.canvas.addEventListener("pointermove", event => this.move(event));
    this.canvas.addEventListener("pointerleave", () => this.isPinned || this.point(null));
    this.canvas.addEventListener("pointerdown", event => this.press(event));
    this.canvas.addEventListener("pointerup", event => this.release(event));
    this.canvas.addEventListener("wheel", event => this.wheel(event), {passive: false});
    this.figure.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.redraw()).observe(figure);
    this.draw();
  }

  addTools() {
    const tools = document.createElement("div");
    tools.className = "tools";
    const add = (text, title, act) => {
      const button = Object.assign(document.createElement("button"), {type: "button", title});
      button.textContent = text;
      button.addEventListener("click", act);
      tools.append(button);
    };
    add("+", "zoom in", () => this.zoom(2));
    add("\u2212", "zoom out", () => this.zoom(0.5));
    add("fit", "show the whole step", () => this.show(0, 1));
    tools.append("Ctrl and the wheel zoom, dragging moves; keys: +, \u2212, 0, arrows. " +
                 "Point at a bubble to see its cause; a click keeps it.");
    this.figure.append(tools);
    this.figure.tabIndex = 0;
  }

  left() { return this.data.labels.width; }
  plotWidth() { return Math.max(this.width - this.left(), 1); }
  toX(share) { return this.left() + (share - this.from) / this.span * this.plotWidth(); }
  shareAt(x) { return this.from + (x - this.left()) / this.plotWidth() * this.span; }

  /** The widest level that is no wider than what is shown of it. */
  level() {
    const needed = this.plotWidth() / this.span;
    return this.data.levels.findLast(level => level.width <= needed) || this.data.levels[0];
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
    const context = this.canvas.getContext("2d"), {head, labels} = this.data;
    const level = this.level(), scrolled = printing ? 0 : this.view.scrollTop;
    const right = this.width, toX = x => this.toX(x / level.width);
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
      this.player.play(context, labels.draw, x => x, view, false));
    part(this.left(), head, right, this.height, scrolled, view => {
      this.player.play(context, level.head, toX, view, fits);
      this.player.play(context, level.rows, toX, view, fits);
      if (this.hit && !printing) this.outline(context);
    });
    part(this.left(), 0, right, head, 0, view =>
      this.player.play(context, level.head, toX, view, fits));
  }

  /** The events of a lane with their times, from the begin of what the chart shows. */
  events(lane) {
    if (lane.events) return lane.events;
    const read = (list, size) => {
      const events = [];
      let begin = 0;
      for (let i = 0; i < list.length; i += size) {
        begin += list[i];
        events.push({begin, end: begin + list[i + 1], at: i, lane, isIdle: size === 6});
      }
      return events;
    };
    lane.events = {jobs: read(lane.jobs, 7), idle: read(lane.idle, 6)};
    return lane.events;
  }

  /** The event under a point of the canvas: a job, else a bubble. */
  eventAt(x, y) {
    const lane = y < this.data.head || x < this.left() ? null : this.laneAt(y);
    if (!lane) return null;
    if (!this.zooms) return this.cellAt(lane, x);
    const time = this.shareAt(x) * this.data.length;
    const near = 1.5 / this.plotWidth() * this.span * this.data.length;
    const within = (events, margin) =>
      events.find(event => event.begin - margin <= time && time < event.end + margin);
    const {jobs, idle} = this.events(lane);
    return within(jobs, 0) || within(idle, 0) || within(jobs, near) || within(idle, near) || null;
  }
  laneAt(y) {
    const inRows = y + this.view.scrollTop;
    return this.data.lanes.find(lane => lane.y <= inRows && inRows < lane.y + lane.h);
  }
  cellAt(lane, x) {
    const column = Math.floor(this.shareAt(x) * this.data.columns.length);
    return column < 0 || column >= lane.cells.length ? null : {lane, column};
  }

  /** Heading and lines of the tip of an event. */
  words(event) {
    const {texts, columns, before, since} = this.data, {lane} = event;
    if (!this.zooms) {
      const cell = lane.cells[event.column];
      if (typeof cell === "string") return [columns[event.column], [["length", cell]]];
      const ratio = cell < 0 ? "no job" : (cell / 10).toFixed(1) + " %";
      return [lane.name + ", " + columns[event.column], [["bubble ratio", ratio]]];
    }
    const list = event.isIdle ? lane.idle : lane.jobs, field = k => list[event.at + k];
    const times = [["on", lane.name], ["begins", duration(event.begin - before) + " into the step, " +
                   duration(event.begin - before + since) + " into the run"],
                  ["takes", duration(event.end - event.begin)]];
    if (event.isIdle) {
      const [name, meaning] = texts[field(2)].split(": ", 2), culprit = texts[field(3)];
      const lines = [["because", meaning || "nobody knows"]];
      if (culprit) lines.push(["culprit", culprit + (field(4) < 0 ? " (not in this chart)" : "")]);
      return ["bubble: " + (name || "idle"), lines.concat(times)];
    }
    const lines = [["kind", texts[field(3)]]];
    for (const [name, k] of [["stage", 4], ["peer rank", 5], ["step", 6]]) {
      if (field(k) >= 0) lines.push([name, String(field(k))]);
    }
    return [texts[field(2)], lines.concat(times)];
  }

  culprit(event) {
    if (!event.isIdle || event.lane.idle[event.at + 4] < 0) return null;
    const lane = this.data.lanes[event.lane.idle[event.at + 4]];
    return this.events(lane).jobs[event.lane.idle[event.at + 5]] || null;
  }

  boxOf(event) {
    const toX = time => this.toX(time / this.data.length);
    return {x: toX(event.begin), right: toX(event.end), y: event.lane.y, h: event.lane.h};
  }

  /** Frames what is under the pointer and its culprit, with an arrow from one to the other. */
  outline(context) {
    if (!this.zooms) return;
    const ink = getComputedStyle(document.body).color, hot = getComputedStyle(this.canvas).color;
    const frame = (box, color) => {
      context.strokeStyle = color;
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, box.y + 1, Math.max(box.right - box.x - 2, 1), box.h - 2);
    };
    const box = this.boxOf(this.hit), culprit = this.culprit(this.hit);
    frame(box, ink);
    if (!culprit) return;
    const other = this.boxOf(culprit);
    const middle = (Math.max(box.x, this.left()) + Math.min(box.right, this.width)) / 2;
    const from = {x: middle, y: box.y + box.h / 2};
    const to = {x: (other.x + other.right) / 2, y: other.y + other.h / 2};
    frame(other, hot);
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    context.fillStyle = hot;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x - 8 * dx, to.y - 8 * dy);
    context.stroke();
    context.beginPath();
    context.moveTo(to.x, to.y);
    context.lineTo(to.x - 10 * dx - 5 * dy, to.y - 10 * dy + 5 * dx);
    context.lineTo(to.x - 10 * dx + 5 * dy, to.y - 10 * dy - 5 * dx);
    context.fill();
  }

  point(event, x, y) {
    this.hit = event;
    if (event) tip.show(...this.words(event), x, y);
    else tip.hide();
    if (this.zooms) this.redraw();
  }

  move(event) {
    if (this.dragged && event.buttons) {
      this.wasMoved = this.wasMoved || Math.abs(event.offsetX - this.dragged.x) > 3;
      if (this.wasMoved) {
        this.show(this.dragged.from - (event.offsetX - this.dragged.x) / this.plotWidth() * this.span, this.span);
      }
    } else if (!this.isPinned) {
      this.point(this.eventAt(event.offsetX, event.offsetY), event.clientX, event.clientY);
    }
  }
  press(event) {
    if (!this.zooms) return;
    this.dragged = {x: event.offsetX, from: this.from};
    this.wasMoved = false;
    this.canvas.setPointerCapture(event.pointerId);
  }
  release(event) {
    this.dragged = null;
    if (!this.zooms || this.wasMoved) return;
    const hit = this.eventAt(event.offsetX, event.offsetY);
    this.isPinned = !!hit && !(this.isPinned && this.hit === hit);
    this.point(hit, event.clientX, event.clientY);
  }
  wheel(event) {
    if (!this.zooms || !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(2 ** (-event.deltaY / 200), event.offsetX);
  }
  key(event) {
    const acts = {"+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5),
                  "0": () => this.show(0, 1), Escape: () => { this.isPinned = false; this.point(null); },
                  ArrowLeft: () => this.show(this.from - this.span / 4, this.span),
                  ArrowRight: () => this.show(this.from + this.span / 4, this.span)};
    if (!this.zooms || !acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  }

  /** Makes everything `factor` times as wide; what is at `x` stays there. */
  zoom(factor, x = this.left() + this.plotWidth() / 2) {
    const share = this.shareAt(x), span = this.span / factor;
    this.show(share - (share - this.from) / this.span * this.limited(span), span);
  }
  limited(span) {
    const widest = this.data.levels[this.data.levels.length - 1].width;
    return Math.min(1, Math.max(span, this.plotWidth() / (8 * widest)));
  }
  show(from, span) {
    this.span = this.limited(span);
    this.from = Math.min(Math.max(from, 0), 1 - this.span);
    this.redraw();
  }
}

function sortBy(button) {
  const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
  const column = [...head.parentNode.children].indexOf(head);
  const isNumber = !head.classList.contains("t");
  const was = head.getAttribute("aria-sort");
  const isDown = was ? was === "ascending" : isNumber;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const value = row => isNumber ? +row.cells[column].dataset.v : row.cells[column].textContent;
  const rows = [...body.rows].map(row => [value(row), row]);
  const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", {numeric: true});
  rows.sort((a, b) => isDown ? compare(b[0], a[0]) : compare(a[0], b[0]));
  body.append(...rows.map(([, row]) => row));
}

/** The table for a spreadsheet: numbers in full, times in nanoseconds. */
function tableText(table) {
  const heads = [...table.tHead.rows[0].cells].map(
    cell => cell.textContent + (cell.dataset.unit ? " (" + cell.dataset.unit + ")" : ""));
  const rows = [...table.tBodies[0].rows].map(
    row => [...row.cells].map(cell => cell.dataset.v ?? cell.textContent));
  return [heads, ...rows].map(row => row.join("\t")).join("\n") + "\n";
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // pages from disk may not be allowed to
    const area = Object.assign(document.createElement("textarea"), {value: text});
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const was = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = was; }, 1200);
}

function redrawAll() { for (const chart of charts) chart.draw(); }

document.addEventListener("click", event => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.themeChoice) {
    if (button.dataset.themeChoice === "auto") delete root.dataset.theme;
    else root.dataset.theme = button.dataset.themeChoice;
    for (const other of button.parentNode.children) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    redrawAll();
  } else if (button.closest("th")) {
    sortBy(button);
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
