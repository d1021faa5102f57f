#include "analysis/run/steps/selection.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/error.h"
#include "trace/text/ranks_text.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

/// The types of events to leave out: kinds by their names in the job log (PaddlePaddle's
/// `backward_b` and `backward_w` included), a program's own types by their own names.
class SkippedTypes {
 public:
  /// `strings`: the string table of the timeline whose events are checked.
  SkippedTypes(const std::vector<std::string>& types, const StringTable& strings);

  bool has(const Event& event) const {
    return kinds_[static_cast<std::size_t>(event.kind)] ||
           (event.kind == JobKind::kOther && names_.contains(strings_[event.name]));
  }

 private:
  std::array<bool, kJobKindCount> kinds_{};
  std::set<std::string, std::less<>> names_;
  const StringTable& strings_;
};

SkippedTypes::SkippedTypes(const std::vector<std::string>& types, const StringTable& strings)
    : strings_(strings) {
  for (const std::string& type : types) {
    const JobKind kind = jobKindFromLogName(type);
    if (kind == JobKind::kOther && type != logName(JobKind::kOther)) {
      names_.insert(type);
    } else {
      kinds_[static_cast<std::size_t>(kind)] = true;
    }
  }
}

/// The type that --skip takes to skip nothing, not even the default types.
constexpr std::string_view kNoType = "none";

/// The ranks, steps and types that occur in a timeline, bubbles apart.
struct Occurring {
  std::set<int> ranks;
  std::set<std::int32_t> steps;
  std::set<std::string, std::less<>> types;
};

std::string typeOf(const Event& event, const StringTable& strings) {
  const bool isOwn = event.kind == JobKind::kOther && event.name != 0;
  return std::string(isOwn ? strings[event.name] : logName(event.kind));
}

Occurring occurringIn(const Timeline& timeline) {
  Occurring occurring;
  std::array<bool, kJobKindCount> kinds{};
  std::set<StringId> names;  // of events whose kind is not known
  std::int32_t step = kNotGiven;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (event.kind == JobKind::kBubble) continue;
      kinds[static_cast<std::size_t>(event.kind)] = true;
      if (event.kind == JobKind::kOther && names.insert(event.name).second) {
        occurring.types.insert(typeOf(event, timeline.strings));
      }
      if (event.step == step) continue;
      step = event.step;
      if (step != kNotGiven) occurring.steps.insert(step);
    }
    if (!track.events.empty()) occurring.ranks.insert(track.rank);
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<JobKind>(i);
    if (kinds[i] && kind != JobKind::kOther) occurring.types.emplace(logName(kind));
  }
  return occurring;
}

std::string textOf(const NumberRange& range) {
  if (range.end == NumberRange::kOpen) return std::to_string(range.begin) + " and up";
  if (range.end == range.begin + 1) return std::to_string(range.begin);
  return std::to_string(range.begin) + " to " + std::to_string(range.end - 1);
}

std::string stepsIn(const Occurring& occurring) {
  if (occurring.steps.empty()) return "the run has no steps";
  if (occurring.steps.size() == 1) {
    return "the run has step " + std::to_string(*occurring.steps.begin()) + " only";
  }
  const std::vector<int> steps(occurring.steps.begin(), occurring.steps.end());
  const std::string text = "the run has " + std::to_string(steps.size()) + " steps";
  const bool hasGaps = static_cast<std::size_t>(steps.back() - steps.front()) >= steps.size();
  if (hasGaps) return text + ": " + numbersText(steps);
  return text + " from " + std::to_string(steps.front()) + " to " + std::to_string(steps.back());
}

std::string ranksIn(const Occurring& occurring) {
  return "the run has " + ranksText({occurring.ranks.begin(), occurring.ranks.end()});
}

std::string typesIn(const Occurring& occurring) {
  std::string text;
  for (const std::string& type : occurring.types) text += (text.empty() ? "" : ", ") + type;
  return "the run has events of type " + text;
}

/// The options of the selection as text, such as "--steps and --skip".
std::string optionsOf(const Selection& selection) {
  std::vector<std::string> names;
  if (!selection.steps.empty()) names.emplace_back("--steps");
  if (!selection.ranks.empty()) names.emplace_back("--ranks");
  if (!selection.skippedTypes.empty()) names.emplace_back("--skip");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

template <typename Numbers>
bool anyOccurs(const NumberRange& range, const Numbers& numbers) {
  return std::any_of(numbers.begin(), numbers.end(),
                     [&](auto number) { return range.contains(number); });
}

/// Whether the range lies within `numbers`, which may have gaps. An open range needs one number
/// only.
template <typename Numbers>
bool occurs(const NumberRange& range, const Numbers& numbers) {
  return anyOccurs(range, numbers) &&
         (range.end == NumberRange::kOpen || range.end - 1 <= *numbers.rbegin());
}

template <typename Numbers>
void warn(const std::vector<NumberRange>& ranges, const Numbers& numbers, const char* option,
          const char* what, const std::string& there, Diagnostics& diagnostics) {
  for (const NumberRange& range : ranges) {
    if (occurs(range, numbers)) continue;
    const bool isOne = range.end == range.begin + 1;
    const char* const why = isOne                       ? ", which does not occur: "
                            : anyOccurs(range, numbers) ? ", of which not all occur: "
                                                        : ", none of which occurs: ";
    diagnostics.add({.message = std::string(option) + " names " + what + (isOne ? " " : "s ") +
                                textOf(range) + why + there});
  }
}

bool isEmpty(const Timeline& timeline, const Selection& selection) {
  const SkippedTypes skipped(selection.skippedTypes, timeline.strings);
  for (const Track& track : timeline.tracks) {
    if (!selection.wantsRank(track.rank)) continue;
    for (const Event& event : track.events) {
      const bool isLeft =
          event.kind != JobKind::kBubble && selection.wantsStep(event.step) && !skipped.has(event);
      if (isLeft) return false;
    }
  }
  return true;
}

template <typename Keep>
void keepEvents(Timeline& timeline, const Keep& keep) {
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event& event) { return !keep(event); });
  }
  std::erase_if(timeline.tracks, [](const Track& track) { return track.events.empty(); });
}

double share(Nanoseconds part, double whole) {
  return whole > 0 ? static_cast<double>(part) / whole : 0.0;
}

void sumUp(RunSummary& summary) {
  std::map<int, RankSummary> ranks;
  for (const RankSummary& rank : summary.ranks) {
    ranks[rank.rank] = {.rank = rank.rank, .replica = rank.replica};
  }
  double idle = 0;
  double whole = 0;
  for (StepSummary& step : summary.steps) {
    Nanoseconds idleOfStep = 0;
    for (const RankStep& rank : step.ranks) {
      ranks[rank.rank].busy += rank.busy;
      ranks[rank.rank].idle += rank.idle;
      idleOfStep += rank.idle;
    }
    const double ofStep = static_cast<double>(step.window()) * std::ssize(step.ranks);
    step.bubbleRatio = share(idleOfStep, ofStep);
    idle += static_cast<double>(idleOfStep);
    whole += ofStep;
  }
  summary.bubbleRatio = whole > 0 ? idle / whole : 0.0;
  for (RankSummary& rank : summary.ranks) {
    rank = ranks.at(rank.rank);
    rank.bubbleRatio = share(rank.idle, static_cast<double>(rank.busy) + rank.idle);
  }
}

}  // namespace

void checkSelection(const Timeline& timeline, const Selection& selection,
                    Diagnostics& diagnostics) {
  if (selection.isAll()) return;
  const Occurring occurring = occurringIn(timeline);
  const std::string steps = stepsIn(occurring);
  const std::string ranks = ranksIn(occurring);
  if (isEmpty(timeline, selection)) {
    std::string there = selection.steps.empty() ? "" : "; " + steps;
    if (!selection.ranks.empty()) there += "; " + ranks;
    if (!selection.skippedTypes.empty()) there += "; " + typesIn(occurring);
    throw Error("nothing is left of the input by " + optionsOf(selection) + there);
  }
  warn(selection.steps, occurring.steps, "--steps", "step", steps, diagnostics);
  warn(selection.ranks, occurring.ranks, "--ranks", "rank", ranks, diagnostics);
  for (const std::string& type : selection.skippedTypes) {
    const JobKind kind = jobKindFromLogName(type);
    const bool isKnown = kind != JobKind::kOther;
    const std::string_view name = isKnown ? logName(kind) : std::string_view(type);
    if (type == kNoType || kind == JobKind::kBubble || occurring.types.contains(name)) continue;
    diagnostics.add({.message = "--skip names the type " + type +
                                ", which does not occur: " + typesIn(occurring)});
  }
}

Timeline withSteps(Timeline timeline, const std::vector<NumberRange>& steps) {
  keepEvents(timeline, [&](const Event& event) { return isIn(steps, event.step); });
  const std::vector<CounterSeries> counters = std::exchange(timeline.counters, {});
  const Timeline::Span span = timeline.span();
  timeline.counters = counters;
  for (CounterSeries& series : timeline.counters) {
    std::erase_if(series.samples, [&](const CounterSample& sample) {
      return sample.time < span.begin || sample.time > span.end;
    });
  }
  return timeline;
}

Timeline inPhaseOf(const std::vector<NumberRange>& steps, Timeline timeline) {
  if (steps.empty()) return timeline;
  std::optional<Phase> chosen;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind) || !isIn(steps, event.step)) continue;
      if (!chosen || event.phase < *chosen) chosen = event.phase;
      if (event.phase == Phase::kTraining) return timeline;
    }
  }
  if (!chosen || *chosen == countedPhaseOf(timeline)) return timeline;
  keepEvents(timeline, [&](const Event& event) { return event.phase == *chosen; });
  return timeline;
}

Timeline withRanks(Timeline timeline, const std::vector<NumberRange>& ranks) {
  std::erase_if(timeline.tracks, [&](const Track& track) { return !isIn(ranks, track.rank); });
  std::erase_if(timeline.counters,
                [&](const CounterSeries& series) { return !isIn(ranks, series.rank); });
  const std::size_t outside =
      std::erase_if(timeline.ranks, [&](const auto& rank) { return !isIn(ranks, rank.first); });
  if (outside == 0) return timeline;
  for (auto& [rank, info] : timeline.ranks) info.isSelected = true;
  return timeline;
}

Timeline withoutTypes(Timeline timeline, const std::vector<std::string>& types) {
  const SkippedTypes skipped(types, timeline.strings);
  keepEvents(timeline, [&](const Event& event) { return !skipped.has(event); });
  return timeline;
}

Timeline selected(Timeline timeline, const Selection& selection) {
  if (!selection.steps.empty()) timeline = withSteps(std::move(timeline), selection.steps);
  if (!selection.ranks.empty()) timeline = withRanks(std::move(timeline), selection.ranks);
  if (!selection.skippedTypes.empty()) {
    timeline = withoutTypes(std::move(timeline), selection.skippedTypes);
  }
  return timeline;
}

RunSummary selected(RunSummary summary, const Selection& selection) {
  if (selection.steps.empty() && selection.ranks.empty()) return summary;
  std::erase_if(summary.steps, [&](StepSummary& step) {
    std::erase_if(step.ranks,
                  [&](const RankStep& rank) { return !selection.wantsRank(rank.rank); });
    return !selection.wantsStep(step.step) || step.ranks.empty();
  });
  std::erase_if(summary.otherSteps,
                [&](const StepWindow& step) { return !selection.wantsStep(step.step); });
  std::erase_if(summary.ranks,
                [&](const RankSummary& rank) { return !selection.wantsRank(rank.rank); });
  std::erase_if(summary.deviceWork, [&](const StageDeviceWork& work) {
    return !selection.wantsStep(work.step) || !selection.wantsRank(work.rank);
  });
  sumUp(summary);
  return summary;
}

}  // namespace pipetrace
