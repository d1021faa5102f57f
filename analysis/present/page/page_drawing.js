// Reads the drawings of chart/script/ and draws them, light or dark. The first part of the script of
// pages: the build joins page_drawing.js, page_chart.js and report_page.js in this order into one
// function.
const root = document.documentElement;
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const page = {charts: [], printing: false};

const isDark = () =>
  !page.printing && (root.dataset.theme || (darkQuery.matches && "dark")) === "dark";
const make = (name, values) => Object.assign(document.createElement(name), values);

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
  /** The lines of a pattern over a rectangle, as linesIn() of chart/draw/hatch_lines.h has them. */
  hatch(context, left, right, y, height, stroke, pattern) {
    const spacing = 6, bottom = y + height, sets = this.data.hatchings[pattern];
    context.strokeStyle = stroke;
    context.lineWidth = 1;
    for (let i = 0; i < sets.length; i += 3) {
      const direction = sets[i], offset = direction < 2 ? 0 : 2.5;
      const [first, last] =
        [[left + y, right + bottom], [left - bottom, right - y], [left, right], [y, bottom]][direction];
      context.beginPath();
      for (let c = Math.ceil((first - offset) / spacing) * spacing + offset; c < last; c += spacing) {
        const from = [Math.max(left, c - bottom), Math.max(left, c + y), c, left][direction];
        const to = [Math.min(right, c - y), Math.min(right, c + bottom), c, right][direction];
        context.moveTo(from, [c - from, from - c, y, c][direction]);
        context.lineTo(to, [c - to, to - c, bottom, c][direction]);
      }
      context.setLineDash(sets[i + 2] ? [sets[i + 1] / 10, sets[i + 2] / 10] : []);
      context.stroke();
    }
    context.setLineDash([]);
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
      i += kind === 1 ? 4 : kind === 2 || kind === 3 ? 6 : 5;
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
      if (kind === 3) {
        this.hatch(context, from, to, y, height, this.color(list[at + 1]), list[at + 2]);
      }
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
