#include "parser/foreign/logs/megatron_ranks.h"

#include <algorithm>
#include <map>
#include <set>

#include "parser/foreign/logs/megatron_format.h"
#include "parser/foreign/pipeline_positions.h"

namespace pipetrace {
namespace {

namespace mf = megatron_format;

/// The time that an iteration took on the slowest rank.
struct Iteration {
  Nanoseconds pad = 0;
  Nanoseconds wallTime = 0;
};

class RankAligner {
 public:
  explicit RankAligner(Timeline& timeline) : timeline_(timeline) {}

  void align() {
    for (const Track& track : timeline_.tracks) {
      if (isOfIterations(track)) measure(track);
    }
    if (ranks_.empty()) return;
    findBegins();
    LanesOfRanks lanes;
    for (const Track& track : timeline_.tracks) {
      if (isOfIterations(track)) findShifts(track);
    }
    for (Track& track : timeline_.tracks) {
      if (!ranks_.contains(track.rank)) continue;
      shift(track);
      if (track.lane != mf::kLane) lanes.emplace_back(track.rank, &track.events);
    }
    giveVirtualStages(lanes, timeline_);
  }

 private:
  /// A profile that was read back has its stages already.
  bool isOfIterations(const Track& track) const {
    if (track.lane != mf::kLane || track.events.empty()) return false;
    const auto info = timeline_.ranks.find(track.rank);
    return info != timeline_.ranks.end() && !info->second.numStages &&
           numberOf(track.events.front(), mf::kPad).has_value();
  }

  std::optional<Nanoseconds> numberOf(const Event& event, std::string_view key) const {
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.type == ArgumentType::kInteger && timeline_.strings[argument.key] == key) {
        return argument.integer;
      }
    }
    return std::nullopt;
  }

  void measure(const Track& track) {
    ranks_.insert(track.rank);
    for (const Event& event : track.events) {
      Iteration& iteration = iterations_[event.step];
      iteration.pad = std::max(iteration.pad, numberOf(event, mf::kPad).value_or(0));
      iteration.wallTime =
          std::max(iteration.wallTime, numberOf(event, mf::kWallTime).value_or(event.duration()));
    }
  }

  void findBegins() {
    Nanoseconds time = 0;
    for (const auto& [step, iteration] : iterations_) {
      if (__builtin_add_overflow(time, iteration.pad, &time)) return;
      begins_[step] = time;
      if (__builtin_add_overflow(time, iteration.wallTime, &time)) return;
    }
  }

  void findShifts(const Track& track) {
    for (const Event& event : track.events) {
      const auto begin = begins_.find(event.step);
      Nanoseconds by = 0;
      if (begin == begins_.end() || __builtin_sub_overflow(begin->second, event.begin, &by))
        continue;
      shifts_[{track.rank, event.step}] = by;
    }
  }

  void shift(Track& track) const {
    for (Event& event : track.events) {
      const auto found = shifts_.find({track.rank, event.step});
      Nanoseconds begin = 0;
      Nanoseconds end = 0;
      if (found == shifts_.end() || __builtin_add_overflow(event.begin, found->second, &begin) ||
          __builtin_add_overflow(event.end, found->second, &end)) {
        continue;
      }
      event.begin = begin;
      event.end = end;
    }
  }

  Timeline& timeline_;
  std::set<int> ranks_;
  std::map<std::int32_t, Iteration> iterations_;
  std::map<std::int32_t, Nanoseconds> begins_;
  std::map<std::pair<int, std::int32_t>, Nanoseconds> shifts_;  // by rank and iteration
};

}  // namespace

void lineUpMegatronRanks(Timeline& timeline) { RankAligner(timeline).align(); }

}  // namespace pipetrace
