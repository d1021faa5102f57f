#pragma once

#include <optional>
#include <vector>

#include "chart/text/text_scale.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The class of idle time in each column of a text chart: the one with the most time in it. A
/// column of a cell has that of the cell.
class IdleMarks {
 public:
  /// `bubbles`: the rank's lane of bubbles; nullptr: no idle time has a class.
  IdleMarks(const Track* bubbles, const TextScale& scale);

  /// kNone where no time has a class.
  BubbleClass classAt(int column) const;
  /// The character for a column without a job. Blank where a rank with bubbles has none: that time
  /// belongs to no step.
  char markAt(int column) const;

 private:
  int cell_;                          // columns of a slot
  std::vector<BubbleClass> classes_;  // by slot; empty: there are no bubbles
};

}  // namespace pipetrace
