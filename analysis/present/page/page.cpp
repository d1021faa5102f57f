#include "analysis/present/page/page.h"

#include <array>
#include <cassert>
#include <cstdio>
#include <numbers>
#include <utility>

#include "analysis/present/summary_report.h"
#include "chart/draw/svg_canvas.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

/// CSS: parallel lines. Bands of the ground make dashes of them.
std::string gradientsOf(const HatchLines& lines) {
  constexpr std::array kDegrees = {"135deg", "45deg", "90deg", "180deg"};  // by HatchDirection
  const bool isDiagonal = lines.direction <= HatchDirection::kFalling;
  const std::string free = fixedText(kHatchSpacing - lines.drawn, 1) + "px";
  const std::string spacing = std::to_string(kHatchSpacing) + "px)";
  std::string text;
  if (lines.isDashed()) {
    text = "repeating-linear-gradient(90deg,var(--ground) 0 " + free + ",transparent 0 " + spacing +
           ",";
  }
  return text + "repeating-linear-gradient(" + kDegrees[static_cast<std::size_t>(lines.direction)] +
         ",var(--stroke) 0 1px,transparent 1px " +
         (isDiagonal ? fixedText(kHatchSpacing / std::numbers::sqrt2, 2) + "px)" : spacing);
}

/// CSS: what hatchingStyle() refers to.
std::string hatchingRule() {
  std::string rule = "[style*=\"--stroke\"] { ";
  for (int i = 0; i < kBubblePatternCount; ++i) {
    rule += "--hatch-" + std::to_string(i) + ": ";
    const auto sets = linesOf(static_cast<BubblePattern>(i));
    for (const HatchLines& lines : sets) {
      rule += (&lines == sets.data() ? "" : ",") + gradientsOf(lines);
    }
    rule += "; ";
  }
  return rule + "background: var(--lines), var(--ground); }\n";
}

void addSection(std::string& out, const PageSection& section) {
  out += "<section id=\"" + htmlText(section.id) + "\">\n";
  if (!section.title.empty()) {
    out += "<h2>" + runMark(section.run) + htmlText(section.title) + "</h2>\n";
  }
  out += section.html + "</section>\n";
}

/// The policy forbids the browser to load anything from anywhere.
constexpr std::string_view kHead =
    "<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"generator\" content=\"PipeTrace\">\n";

constexpr std::string_view kSwitch =
    "<div class=\"switch\" role=\"group\" aria-label=\"colours\">"
    "<button type=\"button\" data-theme-choice=\"auto\" aria-pressed=\"true\">auto</button>"
    "<button type=\"button\" data-theme-choice=\"light\" aria-pressed=\"false\">light</button>"
    "<button type=\"button\" data-theme-choice=\"dark\" aria-pressed=\"false\">dark</button>"
    "</div>\n";

/// The shortest text that reads back as the number, to nine digits.
std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

}  // namespace

std::string htmlText(std::string_view text) {
  std::string out;
  appendXmlText(out, text);
  return out;
}

std::string bothColors(Color light, Color dark) {
  return "light-dark(" + toHex(light) + "," + toHex(dark) + ")";
}

std::string hatchingStyle(BubbleClass bubbleClass) {
  const Hatching light = themeOf(ThemeName::kPaper).hatchingOf(bubbleClass);
  const Hatching dark = themeOf(ThemeName::kPaper, true).hatchingOf(bubbleClass);
  return "--ground:" + bothColors(light.ground, dark.ground) +
         ";--stroke:" + bothColors(light.stroke, dark.stroke) + ";--lines:var(--hatch-" +
         std::to_string(static_cast<int>(light.pattern)) + ")";
}

std::string paragraphHtml(const std::string& text, const std::string& ofClass) {
  return (ofClass.empty() ? "<p>" : "<p class=\"" + htmlText(ofClass) + "\">") + htmlText(text) +
         "</p>\n";
}

std::string sentenceText(std::string text) {
  if (text.empty()) return text;
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string runMark(const std::string& run) {
  if (run.empty()) return {};
  return "<b class=\"run\" data-run=\"" + htmlText(run) + "\">" + htmlText(run) + "</b>";
}

std::string chartElement(const std::string& json, const std::string& name, const std::string& run) {
  return "<figure class=\"chart\"" +
         (run.empty() ? std::string() : " data-run=\"" + htmlText(run) + "\"") + " aria-label=\"" +
         htmlText(name) + "\"><script type=\"application/json\">" + json + "</script></figure>\n";
}

std::string pageText(const Page& page) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n";
  out += kHead;
  out += "<title>" + htmlText(page.title) + "</title>\n<style>\n";
  out += kPageStyle;
  out += hatchingRule();
  out += "</style>\n</head>\n<body>\n<header>\n";
  out += kSwitch;
  out += "<h1>" + htmlText(page.title) + "</h1>\n";
  for (const std::string& line : page.doubts) out += paragraphHtml(line, "doubt");
  for (const std::string& line : page.head) out += "<p>" + htmlText(line) + "</p>\n";
  out += "</header>\n<main>\n";
  for (const PageRow& row : page.rows) {
    if (row.size() > 1) out += "<div class=\"beside\">\n";
    for (const PageSection& section : row) addSection(out, section);
    if (row.size() > 1) out += "</div>\n";
  }
  out += "</main>\n<footer>" + htmlText(page.foot) + "</footer>\n<script>\n";
  out += kPageScript;
  return out + "</script>\n</body>\n</html>\n";
}

PageCell numberCell(double number) { return {ratioText(number), number}; }

PageCell countCell(long long number) {
  return {std::to_string(number), static_cast<double>(number)};
}

PageCell timeCell(long long nanoseconds) {
  PageCell cell{formatDuration(nanoseconds), static_cast<double>(nanoseconds)};
  cell.isTime = true;
  return cell;
}

PageCell shareCell(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return {share == 0 ? "-" : text, share};
}

PageTable::PageTable(std::string name, std::vector<Column> columns)
    : name_(std::move(name)), columns_(std::move(columns)) {}

void PageTable::addRow(const std::vector<PageCell>& cells) {
  assert(cells.size() == columns_.size());
  body_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const PageCell& cell = cells[i];
    columns_[i].hasTimes = columns_[i].hasTimes || cell.isTime;
    body_ += columns_[i].isNumber ? "<td data-v=\"" + exact(cell.number) + "\"" : "<td class=\"t\"";
    if (!cell.style.empty()) body_ += " style=\"" + cell.style + "\"";
    body_ += ">" + (cell.html.empty() ? htmlText(cell.text) : cell.html) + "</td>";
  }
  body_ += "</tr>\n";
  ++rows_;
}

std::string PageTable::html() const {
  const std::string name = htmlText(name_);
  std::string out = "<div class=\"table\"><button type=\"button\" class=\"copy\" title=\"copy " +
                    name +
                    " for a spreadsheet\">copy</button><div class=\"scroll\"><table aria-label=\"" +
                    name + "\"><thead><tr>";
  for (const Column& column : columns_) {
    out += "<th scope=\"col\"";
    if (!column.isNumber) out += " class=\"t\"";
    if (column.hasTimes) out += " data-unit=\"ns\"";
    out += "><button type=\"button\"";
    if (!column.hint.empty()) out += " title=\"" + htmlText(column.hint) + "\"";
    out += ">" + htmlText(column.heading) + "</button></th>";
  }
  return out + "</tr></thead><tbody>\n" + body_ + "</tbody></table></div></div>\n";
}

}  // namespace pipetrace
