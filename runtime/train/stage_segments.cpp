#include "runtime/train/stage_segments.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include "schedule/backward_parts.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

bool holds(const std::vector<int>& sorted, int slot) {
  return std::binary_search(sorted.begin(), sorted.end(), slot);
}

std::set<int> madeBy(const StageCut& cut, int first, int end) {
  std::set<int> made;
  for (auto b = static_cast<std::size_t>(first); b < static_cast<std::size_t>(end); ++b) {
    made.insert(cut.blocks[b].outputs.begin(), cut.blocks[b].outputs.end());
  }
  return made;
}

std::vector<int> boundaryOf(const StageCut& cut, int first, int end) {
  std::set<int> needed;
  for (auto b = static_cast<std::size_t>(first); b < static_cast<std::size_t>(end); ++b) {
    needed.insert(cut.blocks[b].inputs.begin(), cut.blocks[b].inputs.end());
  }
  const bool isLast = end == static_cast<int>(cut.blocks.size());
  if (isLast) needed.insert(cut.lossInputs.begin(), cut.lossInputs.end());
  const std::set<int> made = madeBy(cut, first, end);
  std::vector<int> boundary;
  std::set_difference(needed.begin(), needed.end(), made.begin(), made.end(),
                      std::back_inserter(boundary));
  return boundary;
}

/// The last segment before `before` that has a leaf of a slot's tensor, or makes it; else the
/// first, which begins with what comes to the stage.
int giverOf(const StageCut& cut, const std::vector<StageSegment>& list, int slot, int before) {
  for (int s = before - 1; s > 0; --s) {
    const StageSegment& segment = list[static_cast<std::size_t>(s)];
    if (holds(segment.boundary, slot)) return s;
    if (madeBy(cut, segment.first, segment.end).contains(slot)) return s;
  }
  return 0;
}

}  // namespace

StageSegments::Range StageSegments::ofPart(int part) const {
  const auto isOfPart = [&](const StageSegment& segment) { return segment.part == part; };
  const auto first = std::find_if(list.begin(), list.end(), isOfPart);
  const auto end = std::find_if_not(first, list.end(), isOfPart);
  return {static_cast<int>(first - list.begin()), static_cast<int>(end - list.begin())};
}

StageSegments segmentsOf(const StageCut& cut, int parts, int stage) {
  const auto blocks = static_cast<int>(cut.blocks.size());
  if (parts > 1 && parts > blocks) {
    throw Error("the last backward of stage " + std::to_string(stage) + " is in " +
                std::to_string(parts) + " parts, and the stage has " + countText(blocks, "block") +
                "; a backward is cut between blocks, so it has at most as many parts");
  }
  StageSegments segments;
  for (int part = parts - 1; part >= 0; --part) {
    const auto [first, end] = blocksOfPart(blocks, part, parts);
    const int again = std::clamp(cut.firstRecomputed(), first, end);
    if (first < again || first == end) {
      segments.list.push_back({.first = first, .end = again, .part = part});
    }
    if (again < end) {
      segments.list.push_back({.first = again, .end = end, .part = part, .runsAgain = true});
    }
  }
  for (std::size_t s = 0; s < segments.list.size(); ++s) {
    StageSegment& segment = segments.list[s];
    if (s > 0) segment.boundary = boundaryOf(cut, segment.first, segment.end);
    for (const int slot : segment.boundary) {
      segment.givers.push_back(giverOf(cut, segments.list, slot, static_cast<int>(s)));
    }
  }
  for (const StageCut::End& end : cut.outgoing) {
    segments.ofOutgoing.push_back(
        end.slot == StageCut::kNone
            ? 0
            : giverOf(cut, segments.list, end.slot, static_cast<int>(segments.list.size())));
  }
  return segments;
}

}  // namespace pipetrace
