#pragma once

#include <string>
#include <unordered_map>

#include "analysis/explain/explanation.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A stretch of a run that a page shows.
struct ShownStretch {
  Timeline::Span time;
  std::string title;  ///< "The median step"
  std::string words;  ///< "step 3, the median of 5"
};

/// The median step of those that count and are whole; of all that count where none is whole. In an
/// asynchronous run it is a stretch in its middle, as long as a step. The run must have steps that
/// count.
ShownStretch medianStretch(const Explanation& run);

/// The events of a run that lie at least partly in a stretch of time, with its bubbles there.
/// Events that begin before the stretch are cut off at its begin. Refers to nothing.
struct StepTimeline {
  Timeline timeline;
  /// By event of `timeline`: the event of the run, with its true times. Bubbles have none.
  std::unordered_map<const Event*, const Event*> originals;
  /// By event of the run: that of `timeline`.
  std::unordered_map<const Event*, const Event*> copies;
  /// By bubble of `timeline`: what `run` says of it.
  std::unordered_map<const Event*, const Bubble*> bubbles;
};

/// `timeline` is that of `run`. Takes time proportional to the number of events in the stretch,
/// apart from finding them.
StepTimeline stepTimeline(const Timeline& timeline, const Explanation& run,
                          const Timeline::Span& stretch);

}  // namespace pipetrace
