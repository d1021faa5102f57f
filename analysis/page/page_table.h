#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// A cell of a PageTable.
struct PageCell {
  std::string text;     ///< plain text, as shown and copied
  double number = 0;    ///< what it is sorted by, in columns of numbers
  std::string style{};  ///< CSS; empty: none
  std::string html{};   ///< shown in place of the text; empty: the text
  bool isTime = false;  ///< the number is one of nanoseconds
};

/// A cell of a number, or of a time.
PageCell numberCell(double number);
PageCell countCell(long long number);
PageCell timeCell(long long nanoseconds);
/// A share such as "12.5 %", which is copied as such.
PageCell shareCell(double share);

/// A table that the script of a page sorts by the column that is clicked on, and copies.
class PageTable {
 public:
  struct Column {
    std::string heading;  ///< plain text
    bool isNumber = true;
    std::string hint{};     ///< shown under the pointer; plain text; empty: none
    bool hasTimes = false;  ///< set by a cell of a time
  };

  /// `name`: what it lists, for the button that copies it and for those who do not see it.
  PageTable(std::string name, std::vector<Column> columns);

  /// `cells`: one for each column.
  void addRow(const std::vector<PageCell>& cells);
  bool empty() const { return rows_ == 0; }
  std::size_t rows() const { return rows_; }
  /// The element with its button.
  std::string html() const;

 private:
  std::string name_;
  std::vector<Column> columns_;
  std::string body_;
  std::size_t rows_ = 0;
};

}  // namespace pipetrace
