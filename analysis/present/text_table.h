#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trace/text/fit_to_print.h"

namespace pipetrace {

/// Rows of text in columns, aligned to the right for a fixed-width font. Cells are ASCII.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

  /// `cells` has as many entries as the header. Each stays in its line (fitInLine()).
  void addRow(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = fitInLine(cell);
    rows_.push_back(std::move(cells));
  }

  std::string toText() const {
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

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pipetrace
