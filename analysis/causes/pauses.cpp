#include "analysis/causes/pauses.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/median.h"
#include "analysis/run/steps/interval.h"
#include "analysis/run/steps/median_step.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

using Reason = Pauses::Reason;

/// A pause is longer than this part of a median step.
constexpr Nanoseconds kParts = 100;
/// How many times the usual pause one that stands out is.
constexpr Nanoseconds kUsualTimes = 3;

/// Whether an event of this name saves a checkpoint.
bool isCheckpointName(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.find("checkpoint") != std::string::npos) return true;
  if (lower.find("ckpt") != std::string::npos) return true;
  const std::size_t save = lower.find("save");
  return save != std::string::npos && !std::string_view(lower).substr(save).starts_with("saved");
}

/// The work of a rank in a pause, of one reason.
struct PauseWork {
  std::vector<Interval> parts;
  const Event* longest = nullptr;
  Nanoseconds time = 0;  // the union of the parts

  void add(const Event& event, Interval part) {
    parts.push_back(part);
    if (longest == nullptr || longest->duration() < event.duration()) longest = &event;
  }
  void sumUp() { time = lengthOf(unionOf(std::move(parts))); }
};

/// One pause, and who did what in it.
struct Stall {
  std::int32_t step = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::map<std::pair<int, Reason>, PauseWork> operations;
  Nanoseconds otherPhases = 0;  // from the first of their steps to the last
  Nanoseconds cost = 0;
  // The part of it in which no pipeline has a step, and all ranks of these.
  Nanoseconds commonBegin = kNsMin;
  Nanoseconds commonEnd = kNsMax;
  std::int64_t ranks = 0;

  Nanoseconds length() const { return end - begin; }
};

/// How long steps usually go on when the next one of their pipeline has begun, as where some ranks
/// add their gradients for longer than others; by pipeline.
std::map<int, Nanoseconds> usualOverlaps(const RunSummary& summary) {
  std::map<int, std::vector<Nanoseconds>> all;
  for (const StepSummary& step : summary.steps) {
    if (!step.isFollowed) continue;
    all[step.replica].push_back(std::max<Nanoseconds>(0, step.end - step.windowEnd));
  }
  std::map<int, Nanoseconds> usual;
  for (auto& [replica, overlaps] : all) usual[replica] = medianOf(overlaps);
  return usual;
}

/// The pauses that stand out, in the order of time. Those that overlap are of several pipelines.
std::vector<Stall> stallsOf(const RunSummary& summary, const CountedSteps& counted) {
  std::vector<Nanoseconds> pauses;
  for (const StepSummary& step : summary.steps) {
    if (step.betweenSteps > 0) pauses.push_back(step.betweenSteps);
  }
  const Nanoseconds usual = pauses.empty() ? 0 : medianOf(pauses);
  const Nanoseconds length = medianStepOf(summary, counted).window;
  const std::map<int, Nanoseconds> overlaps = usualOverlaps(summary);
  // Where the next step usually begins earlier, a pause has begun before the step's last job ended.
  const auto beginOf = [&](const StepSummary& each) {
    const auto overlap = overlaps.find(each.replica);
    const Nanoseconds usually = overlap != overlaps.end() ? overlap->second : 0;
    return each.betweenSteps > 0 ? std::max(each.begin, each.windowEnd - usually) : each.windowEnd;
  };
  const auto endOf = [](const StepSummary& each) {
    return each.windowEnd + each.betweenSteps + each.otherPhases;
  };
  std::map<std::int32_t, Stall> byStep;
  for (const StepSummary& each : summary.steps) {
    const Nanoseconds pause = endOf(each) - each.windowEnd;
    const bool isStall =
        pause > length / kParts && (pause > kUsualTimes * usual || usual > length / kParts);
    if (!isStall) continue;
    Stall& stall = byStep[each.step];
    stall.cost += (endOf(each) - beginOf(each) - each.otherPhases) *
                  static_cast<Nanoseconds>(each.ranks.size());
    if (stall.length() >= endOf(each) - beginOf(each)) continue;
    stall = {each.step, beginOf(each), endOf(each), {}, each.otherPhases, stall.cost};
  }
  for (const StepSummary& each : summary.steps) {
    const auto stall = byStep.find(each.step);
    if (stall == byStep.end()) continue;
    Stall& of = stall->second;
    of.commonBegin = std::max(of.commonBegin, beginOf(each));
    of.commonEnd = std::min(of.commonEnd, endOf(each));
    of.ranks += static_cast<std::int64_t>(each.ranks.size());
  }
  std::vector<Stall> stalls;
  for (auto& [step, stall] : byStep) stalls.push_back(std::move(stall));
  std::sort(stalls.begin(), stalls.end(),
            [](const Stall& a, const Stall& b) { return a.begin < b.begin; });
  return stalls;
}

/// Adds what ranks did in the stalls.
void fillStalls(const Timeline& timeline, std::vector<Stall>& stalls) {
  std::map<StringId, bool> known;  // by name
  const auto reasonOf = [&](const Event& event) {
    if (loadsData(event.kind)) return Reason::kData;
    if (savesState(event.kind)) return Reason::kCheckpoint;
    const bool mayBe = event.kind == JobKind::kDefault || event.kind == JobKind::kOther ||
                       event.kind == JobKind::kCopy;
    if (!mayBe || event.name == 0) return Reason::kUnknown;
    const auto [found, isNew] = known.try_emplace(event.name, false);
    if (isNew) found->second = isCheckpointName(timeline.strings[event.name]);
    return found->second ? Reason::kCheckpoint : Reason::kUnknown;
  };
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      const Reason reason = reasonOf(event);
      if (reason == Reason::kUnknown) continue;
      for (auto stall =
               std::partition_point(stalls.begin(), stalls.end(),
                                    [&](const Stall& each) { return each.end <= event.begin; });
           stall != stalls.end() && stall->begin < event.end; ++stall) {
        const Nanoseconds begin = std::max(event.begin, stall->begin);
        const Nanoseconds end = std::min(event.end, stall->end);
        if (2 * (end - begin) <= event.duration()) continue;
        stall->operations[{track.rank, reason}].add(event, {begin, end});
      }
    }
  }
  for (Stall& stall : stalls) {
    for (auto& [who, work] : stall.operations) work.sumUp();
  }
}

/// The steps of other phases in a pause, if they are its reason; `pause` gets the rest.
bool isOfOtherPhase(const RunSummary& summary, const Stall& stall, Pauses& pause) {
  if (2 * stall.otherPhases <= stall.length()) return false;
  std::map<Phase, Nanoseconds> times;
  std::int32_t first = 0;
  std::int32_t last = -1;
  for (const StepWindow& step : summary.otherSteps) {
    if (step.begin < stall.begin || step.begin >= stall.end) continue;
    times[step.phase] += step.window();
    first = last < 0 ? step.step : std::min(first, step.step);
    last = std::max(last, step.step);
  }
  const bool isPrediction = times[Phase::kPredict] > times[Phase::kEvaluate];
  pause.reason = isPrediction ? Reason::kPrediction : Reason::kEvaluation;
  pause.workTime = stall.otherPhases;
  pause.firstOther = first;
  pause.lastOther = last;
  return true;
}

/// Adds a pause to those of its reason and rank.
void addTo(Pauses& group, Pauses pause) {
  const Nanoseconds length = pause.end - pause.begin;
  const Nanoseconds time = group.time + length;
  const Nanoseconds least = group.count == 0 ? length : std::min(group.least, length);
  const Nanoseconds workTime = group.workTime + pause.workTime;
  const Nanoseconds cost = group.cost + pause.cost;
  const int count = group.count + 1;
  if (length > group.end - group.begin) group = std::move(pause);
  group.count = count;
  group.time = time;
  group.least = least;
  group.cost = cost;
  group.workTime = workTime;
}

/// One of the stalls, with its reason.
Pauses pauseOf(const Timeline& timeline, const RunSummary& summary, const Stall& stall) {
  Pauses pause{.step = stall.step, .begin = stall.begin, .end = stall.end, .cost = stall.cost};
  if (isOfOtherPhase(summary, stall, pause)) return pause;
  const PauseWork* most = nullptr;
  for (const auto& [who, work] : stall.operations) {
    if (2 * work.time <= stall.length() || (most != nullptr && most->time >= work.time)) continue;
    most = &work;
    std::tie(pause.rank, pause.reason) = who;
  }
  for (const auto& [who, work] : stall.operations) {
    if (who.second == pause.reason && 2 * work.time > stall.length()) {
      pause.ranks.push_back(who.first);
    }
  }
  if (most == nullptr) return pause;
  pause.workTime = most->time;
  pause.longestWork = most->longest;
  pause.work = displayName(timeline, *most->longest);
  return pause;
}

void findNext(const Timeline& timeline, Phase phase, Pauses& pauses) {
  for (const Track& track : timeline.tracks) {
    const auto& events = track.events;
    auto event = std::partition_point(events.begin(), events.end(),
                                      [&](const Event& each) { return each.begin < pauses.end; });
    const auto counts = [&](const Event& each) {
      return isCompute(each.kind) && each.phase == phase;
    };
    event = std::find_if(event, events.end(), counts);
    if (event == events.end()) continue;
    if (pauses.next != nullptr && pauses.next->begin <= event->begin) continue;
    pauses.next = &*event;
    pauses.rankOfNext = track.rank;
  }
}

/// Whether all ranks that compute but one have a receive open from the first half of a pause to its
/// end.
bool areOthersWaiting(const Timeline& timeline, const Pauses& pauses) {
  const Nanoseconds middle = pauses.begin + (pauses.end - pauses.begin) / 2;
  std::map<int, bool> waits;  // by rank
  for (const Track& track : timeline.tracks) {
    const auto& events = track.events;
    const auto after = std::partition_point(
        events.begin(), events.end(), [&](const Event& each) { return each.begin < pauses.end; });
    constexpr std::ptrdiff_t kMost = 64;  // receives that are open together
    auto event = after;
    for (auto i = std::min(kMost, after - events.begin()); i > 0; --i) {
      --event;
      if (isCompute(event->kind)) waits.try_emplace(track.rank, false);
      const bool isOpen = event->begin <= middle && event->end >= pauses.end;
      if (isRecv(event->kind) && isOpen) waits[track.rank] = true;
    }
  }
  waits.erase(pauses.rankOfNext);
  return !waits.empty() &&
         std::all_of(waits.begin(), waits.end(), [](const auto& each) { return each.second; });
}

/// How long no pipeline usually has a step: the median of all steps that are followed, of two the
/// shorter one.
Nanoseconds usualOf(const RunSummary& summary) {
  std::map<std::int32_t, Interval> common;
  for (const StepSummary& step : summary.steps) {
    if (!step.isFollowed) continue;
    const Interval own{step.windowEnd, step.windowEnd + step.betweenSteps};
    Interval& all = common.try_emplace(step.step, own).first->second;
    all = {std::max(all.begin, own.begin), std::min(all.end, own.end)};
  }
  std::vector<Nanoseconds> lengths;
  for (const auto& [step, all] : common) {
    lengths.push_back(std::max<Nanoseconds>(0, all.end - all.begin));
  }
  return lengths.empty() ? 0 : lowerMedianOf(lengths);
}

}  // namespace

std::vector<Pauses> pausesOf(const Timeline& timeline, const RunSummary& summary,
                             const CountedSteps& counted) {
  std::vector<Stall> stalls = stallsOf(summary, counted);
  if (stalls.empty()) return {};
  fillStalls(timeline, stalls);
  std::map<std::tuple<Reason, int, bool>, Pauses> groups;
  const Nanoseconds least = medianStepOf(summary, counted).window / kParts;
  const Nanoseconds usual = usualOf(summary);
  for (const Stall& stall : stalls) {
    Pauses pause = pauseOf(timeline, summary, stall);
    bool standsOut = false;
    if (pause.reason == Reason::kUnknown) {
      // A pipeline may wait for another one that is still in its step: the run goes on.
      pause.begin = stall.commonBegin;
      pause.end = stall.commonEnd;
      if (pause.end - pause.begin <= least) continue;
      pause.cost = (pause.end - pause.begin) * stall.ranks;
      standsOut = pause.end - pause.begin > kUsualTimes * usual;
      if (standsOut) pause.usual = usual;
    }
    // Where several ranks do it, each may be the longest at times.
    Pauses& group = groups[{pause.reason, pause.ranks.size() > 1 ? -1 : pause.rank, standsOut}];
    addTo(group, std::move(pause));
  }
  std::set<std::int32_t> followed;
  for (const StepSummary& step : summary.steps) {
    if (step.isFollowed) followed.insert(step.step);
  }
  const auto longer = groups.find({Reason::kUnknown, -1, true});
  const int longerCount = longer == groups.end() ? 0 : longer->second.count;
  std::vector<Pauses> result;
  for (auto& [key, group] : groups) {
    const bool isUsual = key == std::tuple(Reason::kUnknown, -1, false);
    group.steps = static_cast<int>(followed.size()) - (isUsual ? longerCount : 0);
    findNext(timeline, summary.phase, group);
    if (group.reason == Reason::kUnknown) {
      group.areOthersWaiting = areOthersWaiting(timeline, group);
    }
    result.push_back(std::move(group));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Pauses& a, const Pauses& b) { return a.time > b.time; });
  return result;
}

}  // namespace pipetrace
