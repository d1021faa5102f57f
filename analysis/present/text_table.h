#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pipetrace {

/// Rows of text in columns, aligned to the right for a fixed-width font. Cells are ASCII.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

  /// `cells` has as many entries as the header. Each stays in its line (fitInLine()).
  void addRow(std::vector<std::string> cells);
  std::string toText() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pipetrace
