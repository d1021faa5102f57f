#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// A line of the legend. The theme has its colour.
struct LegendEntry {
  JobKind kind = JobKind::kOther;
  std::string label;
  int chunk = 0;
  BubbleClass bubbleClass = BubbleClass::kNone;  ///< of bubbles
  bool isHeading = false;                        ///< a text that begins a line, without a colour
};

/// The entries for the kinds of events in the timeline, in the order of JobKind. A kind that runs
/// in several chunks has two: one for the first chunk and one for the last. Bubbles have a heading
/// and an entry for each of their classes; a single one where none is classified.
std::vector<LegendEntry> legendOf(const Timeline& timeline);

/// The legend of a chart that does not show the classes of bubbles: one entry for all of them.
std::vector<LegendEntry> withoutClasses(std::vector<LegendEntry> legend);

/// The entries that legendOf() would add at its end if the timeline had these lanes of bubbles.
std::vector<LegendEntry> legendOfBubbles(std::span<const Track> bubbles);

/// The largest number of chunks that a kind has in the legend; 1 without chunks.
int chunksOf(const std::vector<LegendEntry>& legend);

}  // namespace pipetrace
