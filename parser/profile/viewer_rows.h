#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// One row of a profile in a Chrome viewer: a lane, or a sub-lane of one whose events overlap.
struct ViewerRow {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string name;   ///< "send", "send (2)", …
  std::string lane;   ///< "send"
  int sortIndex = 0;  ///< among the rows of its process
};

/// The rows of a sorted timeline, numbered so that Perfetto and Catapult show them in our order.
/// The pid is rank + 1. The compute lane's tid is the pid: Perfetto takes it for the main thread
/// and shows it first. Every other tid is above every pid and used once.
class ViewerRows {
 public:
  explicit ViewerRows(const Timeline& timeline, int threads = 1);

  /// Takes rows that were chosen elsewhere. `places` gives, by track and event, the position of its
  /// row in `rows`.
  ViewerRows(std::vector<ViewerRow> rows, std::vector<std::vector<std::uint32_t>> places)
      : rows_(std::move(rows)), firstRow_(places.size(), 0), subLanes_(std::move(places)) {}

  const std::vector<ViewerRow>& all() const { return rows_; }
  const ViewerRow& row(std::size_t track, std::size_t event) const {
    return rows_[rowIndex(track, event)];
  }
  /// The position of that row in all().
  std::size_t rowIndex(std::size_t track, std::size_t event) const {
    const auto& subLanes = subLanes_[track];
    return firstRow_[track] + (subLanes.empty() ? 0 : subLanes[event]);
  }

  static std::int64_t pidOf(int rank) { return std::int64_t{rank} + 1; }

 private:
  std::vector<ViewerRow> rows_;
  std::vector<std::size_t> firstRow_;                 // by track
  std::vector<std::vector<std::uint32_t>> subLanes_;  // by track and event; empty: all in one row
};

}  // namespace pipetrace
