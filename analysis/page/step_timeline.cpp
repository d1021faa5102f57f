#include "analysis/page/step_timeline.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/steps/median_step.h"
#include "chart/steps/step_span.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// "step 3, the median of 5 that count". It may also be the nearest to it, as no step is the median
/// of an even count.
std::string wordsOf(const StepSpan& step, const MedianStep& median) {
  std::string text = "step " + numberText(step);
  if (median.count == 1) return text + ", the only one that counts";
  const std::string count = std::to_string(median.count) + " that count";
  if (step.end - step.begin == median.window) return text + ", the median of " + count;
  return text + ", the nearest to the median of " + count + " (" + formatDuration(median.window) +
         ")";
}

/// The middle of an asynchronous run, which is one step from end to end.
std::optional<ShownStretch> middleOf(const Explanation& run) {
  for (const ExplainedStep& step : run.steps) {
    const StepSummary& all = step.summary;
    if (!all.isWholeRun || !step.isCounted) continue;
    const std::int32_t count = all.last() - all.step + 1;
    if (count == 1) {
      return ShownStretch{
          {all.begin, all.windowEnd}, "The run", "the run, while its pipeline is full"};
    }
    const Nanoseconds length = std::max<Nanoseconds>(all.window() / count, 1);
    const Nanoseconds begin = all.begin + (all.window() - length) / 2;
    return ShownStretch{{begin, begin + length},
                        "A part of the run",
                        "a stretch from the middle of the run, as long as one of its " +
                            std::to_string(count) + " steps"};
  }
  return std::nullopt;
}

/// An event of a stretch, and the one of the run.
using Copied = std::pair<Event, const Event*>;

/// The events of a sorted track that reach into the stretch, in their order there. Long events may
/// begin well before it.
std::vector<Copied> eventsIn(const Track& track, const Timeline::Span& stretch) {
  std::vector<Copied> copied;
  for (const Event& event : track.events) {
    if (event.begin >= stretch.end) break;
    if (event.end <= stretch.begin && event.begin < stretch.begin) continue;
    copied.emplace_back(event, &event);
    copied.back().first.begin = std::max(event.begin, stretch.begin);
  }
  std::stable_sort(copied.begin(), copied.end(),
                   [](const Copied& a, const Copied& b) { return startsBefore(a.first, b.first); });
  return copied;
}

void addBubblesTo(StepTimeline& step, const Timeline& timeline, const Explanation& run,
                  const Timeline::Span& stretch) {
  const JobGraph& graph = *run.graph;
  Bubbles shown;
  shown.byRank.resize(run.bubbles.byRank.size());
  std::vector<std::vector<const Bubble*>> sources(shown.byRank.size());
  for (std::size_t r = 0; r < shown.byRank.size(); ++r) {
    for (const Bubble& bubble : run.bubbles.byRank[r]) {
      if (bubble.begin >= stretch.end || bubble.end <= stretch.begin) continue;
      shown.byRank[r].push_back(bubble);
      shown.byRank[r].back().begin = std::max(bubble.begin, stretch.begin);
      sources[r].push_back(&bubble);
    }
  }
  BubbleLanes lanes = bubbleLanes(timeline, graph, shown);
  const auto moved = static_cast<std::int64_t>(step.timeline.arguments.size()) -
                     static_cast<std::int64_t>(lanes.firstArgument);
  for (Track& track : lanes.tracks) {
    for (Event& event : track.events) {
      if (event.argumentCount > 0) {
        event.firstArgument = static_cast<std::uint32_t>(event.firstArgument + moved);
      }
    }
  }
  lanes.firstArgument = step.timeline.arguments.size();
  joinBubbles(step.timeline, std::move(lanes));
  for (std::size_t r = 0; r < sources.size(); ++r) {
    const Track* const track = step.timeline.findTrack(graph.ranks()[r].number, kBubbleLane);
    for (std::size_t i = 0; i < sources[r].size(); ++i) {
      step.bubbles[&track->events[i]] = sources[r][i];
    }
  }
}

}  // namespace

ShownStretch medianStretch(const Explanation& run) {
  if (auto middle = middleOf(run)) return *std::move(middle);
  const MedianStep median = medianStepOf(run.summary, run.counted);
  std::vector<StepWindow> windows;
  for (const StepSummary& step : run.summary.steps) {
    if (step.step == median.step) windows.push_back(step);
  }
  const StepSpan shown = stepSpans(windows).at(0);
  return {{shown.begin, shown.end}, "The median step", wordsOf(shown, median)};
}

StepTimeline stepTimeline(const Timeline& timeline, const Explanation& run,
                          const Timeline::Span& stretch) {
  StepTimeline step;
  step.timeline.strings = timeline.strings;
  step.timeline.ranks = timeline.ranks;
  for (const Track& track : timeline.tracks) {
    if (track.lane == kBubbleLane) continue;
    const std::vector<Copied> copied = eventsIn(track, stretch);
    if (copied.empty() && track.lane != kComputeLane) continue;
    Track& made = step.timeline.tracks.emplace_back();
    made.rank = track.rank;
    made.lane = track.lane;
    std::vector<Event>& events = made.events;
    events.reserve(copied.size());
    for (const auto& [event, original] : copied) {
      events.push_back(event);
      step.timeline.setArguments(events.back(), timeline.argumentsOf(*original));
      step.originals[&events.back()] = original;
      step.copies[original] = &events.back();
    }
  }
  addBubblesTo(step, timeline, run, stretch);
  return step;
}

}  // namespace pipetrace
