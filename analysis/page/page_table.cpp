#include "analysis/page/page_table.h"

#include <cassert>
#include <cstdio>
#include <utility>

#include "analysis/page/page.h"
#include "analysis/present/summary_report.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// The shortest text that reads back as the number, to nine digits.
std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

}  // namespace

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
