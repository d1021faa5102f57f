#include "analysis/present/text_table.h"

#include <algorithm>
#include <utility>

#include "trace/text/fit_to_print.h"

namespace pipetrace {

void TextTable::addRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = fitInLine(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::toText() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  constexpr std::size_t kGap = 2;
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text.append(kGap + widths[i] - row[i].size(), ' ');
      text += row[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace pipetrace
