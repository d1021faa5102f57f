#include "chart/lane_piece.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr int kClearance = 2;  // pixels

/// Walks along one lane and cuts it into pieces.
class Cutter {
 public:
  Cutter(const LaneIndex& lane, const TimeAxis& axis, int from, int to,
         std::vector<LanePiece>& pieces)
      : lane_(lane),
        axis_(axis),
        pieces_(pieces),
        from_(from),
        to_(to),
        minCell_(axis.durationOf(kMinCellWidth)),
        clearance_(axis.durationOf(kClearance + 1)) {}

  void run() {
    // Begins one ns earlier, to find an event of no length at the very beginning.
    std::size_t i = lane_.firstEndingAfter(axis_.timeAt(from_) - 1);
    const Nanoseconds end = axis_.timeAt(to_);
    while (i < lane_.size() && lane_.beginOf(i) < end) {
      if (isCell(i)) {
        pieces_.push_back(
            {axis_.xOf(lane_.beginOf(i)), axis_.xOf(lane_.endOf(i)), i, 1, false, {}, 0});
        ++i;
      } else if (isAlone(i)) {
        const int left = axis_.xOf(lane_.beginOf(i));
        const int right = std::max(axis_.xOf(lane_.endOf(i) - 1), left) + 1;
        pieces_.push_back({left, right, i, 1, false, {}, 0});
        ++i;
      } else {
        i = columnsFrom(i);
      }
    }
  }

 private:
  bool isCell(std::size_t i) const { return lane_.endOf(i) - lane_.beginOf(i) >= minCell_; }

  /// Whether no other event is in the pixels of the narrow event `i` or next to them. Where events
  /// are dense, columns of their shares show more. Times decide, and not where the events lie in
  /// their pixels: of regular events all are alone or none, or they would look like varying load.
  bool isAlone(std::size_t i) const {
    // Most events that are not alone touch the next one.
    if (i + 1 < lane_.size() && lane_.beginOf(i + 1) <= lane_.endOf(i)) return false;
    return (i == 0 || lane_.beginOf(i) - lane_.endOf(i - 1) >= clearance_) &&
           (i + 1 == lane_.size() || lane_.beginOf(i + 1) - lane_.endOf(i) >= clearance_);
  }

  /// Appends columns from the narrow event `i` on, up to a column beyond which none of its events
  /// reaches. Returns the next event.
  std::size_t columnsFrom(std::size_t i) {
    int x = std::max(axis_.xOf(lane_.beginOf(i)), from_);
    Nanoseconds end = axis_.timeAt(x);
    while (true) {
      const Nanoseconds begin = end;
      end = axis_.timeAt(x + 1);
      std::size_t stop = lane_.firstBeginningAt(end, i);
      // An event that is wide begins in this column and gets a piece of its own.
      const bool cellFollows = stop > i && isCell(stop - 1);
      if (cellFollows) --stop;
      pieces_.push_back(
          {x, x + 1, i, stop - i, true, lane_.load(i, stop, begin, end), end - begin});
      lane_.prefetch(stop + (stop - i));  // the next column is like this one
      if (cellFollows || lane_.endOf(stop - 1) <= end) return stop;
      i = stop - 1;
      if (++x >= to_) return stop;
    }
  }

  const LaneIndex& lane_;
  const TimeAxis& axis_;
  std::vector<LanePiece>& pieces_;
  int from_;
  int to_;
  Nanoseconds minCell_;
  Nanoseconds clearance_;
};

}  // namespace

void cutIntoPieces(const LaneIndex& lane, const TimeAxis& axis, std::vector<LanePiece>& pieces) {
  cutIntoPieces(lane, axis, 0, axis.width(), pieces);
}

void cutIntoPieces(const LaneIndex& lane, const TimeAxis& axis, int from, int to,
                   std::vector<LanePiece>& pieces) {
  Cutter(lane, axis, from, to, pieces).run();
}

}  // namespace pipetrace
