#pragma once

#include <vector>

#include "chart/draw/canvas.h"

namespace pipetrace {

/// Adds up what falls into the pixel columns of a row, so that each is as high as its share.
class ExactColumns {
 public:
  /// `full`: the height of the row in pixels. Columns are appended to `columns`, which must outlive
  /// it.
  ExactColumns(int full, std::vector<Column>& columns) : full_(full), columns_(columns) {}

  /// Adds `height` pixels of a colour to the column `x`, which is not negative. Calls come from
  /// left to right.
  void add(int x, double height, Color color);
  /// Makes the column `x`, if something is added to it, a line between two jobs: its colour is
  /// mixed with `paper`.
  void separate(int x, Color paper);
  /// Appends the last column.
  void finish();

 private:
  int full_;
  std::vector<Column>& columns_;
  bool isOpen_ = false;
  int x_ = 0;
  double height_ = 0;
  // The colour is the mean of what was added, weighted by height.
  double red_ = 0;
  double green_ = 0;
  double blue_ = 0;
  double weight_ = 0;
  int separator_ = -1;  // the column that is a line
  Color paper_{};
};

}  // namespace pipetrace
