#pragma once

#include <vector>

#include "runtime/train/model/model_cut.h"

namespace pipetrace {

/// A stretch of a stage's blocks whose backward runs by itself. Where one follows another, the
/// tensors that it needs are cut off from the graph before it, and become leaves of its own.
struct StageSegment {
  int first = 0;  ///< its blocks, by their number in the stage: from here to before `end`
  int end = 0;
  int part = 0;  ///< of the stage's backward (Action::part)
  bool runsAgain = false;
  /// The slots of what it needs and does not make, ascending. The last segment has the loss, too.
  std::vector<int> boundary;
  /// By boundary: the segment before it to which the gradient goes, which has a leaf of that tensor
  /// or makes it.
  std::vector<int> givers;
};

/// The segments of a stage, in the order of its blocks. A gradient goes back from segment to
/// segment, each of which adds those of its blocks, the last ones first. So it is added up as it
/// would be in one graph.
struct StageSegments {
  std::vector<StageSegment> list;
  /// By outgoing route: the last segment that has a leaf of its tensor, or makes it. The gradient
  /// from the other stage comes in there.
  std::vector<int> ofOutgoing;

  /// The segments of a part: from `first` to before `end`.
  struct Range {
    int first = 0;
    int end = 0;
  };
  Range ofPart(int part) const;
};

/// Those of a stage whose backward has that many parts. Blocks that run again are segments of their
/// own. Throws Error for fewer blocks than parts. `stage` is the number of the stage, for that.
StageSegments segmentsOf(const StageCut& cut, int parts, int stage);

}  // namespace pipetrace
