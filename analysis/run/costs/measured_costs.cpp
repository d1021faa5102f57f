#include "analysis/run/costs/measured_costs.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/event_bytes.h"
#include "analysis/matched_messages.h"
#include "analysis/median.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/run/steps/interval.h"
#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

using Durations = std::vector<Nanoseconds>;

class Measuring {
 public:
  Measuring(const Timeline& timeline, const CountedSteps& counted, const std::vector<int>& ranks)
      : timeline_(timeline), phase_(countedPhaseOf(timeline)), counted_(counted), ranks_(ranks) {
    for (const Track& track : timeline.tracks) {
      if (!isOfRanks(track.rank)) continue;
      std::map<ReductionKey, int> seen;
      for (const Event& event : track.events) {
        if (!isMeasured(event)) continue;
        event.kind == JobKind::kAllReduce ? addReduction(event, seen) : add(event);
      }
      addWholes();
    }
    for (const auto& [key, span] : reductions_) {
      reductionsOf_[std::get<2>(key.first)].push_back(span.end - span.begin);
    }
  }

  Costs costs() {
    Costs costs;
    costs.lr = medianOf(lr_);
    costs.optimizer = medianOf(optimizer_);
    costs.transfer = transfer();
    costs.scalarAllReduce = medianOf(reductionsOf_[kNotGiven]);
    for (auto& [number, durations] : stages_) {
      auto& [forward, backward, input, weight, fused, recompute] = durations;
      const auto next = static_cast<std::int32_t>(costs.stages.size());
      if (number != next || forward.empty()) {
        throw Error("cannot measure the costs of stage " + std::to_string(next) +
                    ": the run has no forward job of it; read the logs of all ranks together");
      }
      StageCosts stage{medianOf(forward), medianOf(backward), medianOf(input), medianOf(weight)};
      if (backward.empty()) stage.backward = stage.backwardInput + stage.backwardWeight;
      if (!fused.empty()) stage.forwardBackward = medianOf(fused);
      stage.recompute = medianOf(recompute);
      stage.message = medianOf(bytes_[number]);
      stage.reduction = medianOf(reductionsOf_[number]);
      costs.stages.push_back(stage);
    }
    if (costs.stages.empty()) {
      throw Error("cannot measure costs: the run has no forward job of a known stage");
    }
    return costs;
  }

 private:
  bool isOfRanks(int rank) const {
    return ranks_.empty() || std::binary_search(ranks_.begin(), ranks_.end(), rank);
  }

  bool isMeasured(const Event& event) const {
    return event.phase == phase_ && counted_.contains(event.step);
  }

  static constexpr std::int64_t kMostOfScalars = 64;  ///< bytes

  /// Step, members and stage.
  using ReductionKey = std::tuple<std::int32_t, StringId, std::int32_t>;

  /// Kind (as in stages_), step, stage and micro-batch.
  using PartsKey = std::tuple<std::size_t, std::int32_t, std::int32_t, std::int32_t>;
  struct Parts {
    std::int16_t last = 0;
    Nanoseconds sum = 0;
  };

  /// The n-th of a step, members and stage on each of its ranks are one. It begins with the last.
  /// Gradients whose stage the trace does not say are of none.
  void addReduction(const Event& event, std::map<ReductionKey, int>& seen) {
    if (event.stage < 0 && bytesOf(timeline_, event).value_or(0) > kMostOfScalars) return;
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.type != ArgumentType::kText) continue;
      if (timeline_.strings[argument.key] != log_format::kMembers) continue;
      const ReductionKey key{event.step, argument.text, event.stage};
      const auto [place, isNew] =
          reductions_.try_emplace({key, seen[key]++}, Interval{event.begin, event.end});
      place->second.begin = std::max(place->second.begin, event.begin);
      place->second.end = std::max(place->second.end, event.end);
    }
  }

  void add(const Event& event) {
    switch (event.kind) {
      case JobKind::kLr: lr_.push_back(event.duration()); break;
      case JobKind::kOptimizer: optimizer_.push_back(event.duration()); break;
      case JobKind::kForward: addToStage(0, event); break;
      case JobKind::kBackward: addToStage(1, event); break;
      case JobKind::kBackwardInput: addToStage(2, event); break;
      case JobKind::kBackwardWeight: addToStage(3, event); break;
      case JobKind::kForwardBackward: addToStage(4, event); break;
      case JobKind::kRecompute: addToStage(5, event); break;
      case JobKind::kSendForward:
      case JobKind::kSendBackward: addBytes(event); break;
      default: break;
    }
  }

  void addToStage(std::size_t kind, const Event& event) {
    if (event.stage < 0) return;
    if (event.part != kNotGiven) return addPart(kind, event);
    stages_[event.stage][kind].push_back(event.duration());
  }

  /// The parts of a job are one: they add up.
  void addPart(std::size_t kind, const Event& event) {
    const PartsKey key{kind, event.step, event.stage, event.microBatch};
    const auto [place, isNew] = parts_.try_emplace(key);
    Parts& parts = place->second;
    if (!isNew && event.part <= parts.last) addWhole(key, parts);
    parts.last = event.part;
    parts.sum += event.duration();
  }
  void addWhole(const PartsKey& key, Parts& parts) {
    stages_[std::get<2>(key)][std::get<0>(key)].push_back(std::exchange(parts.sum, 0));
  }
  void addWholes() {
    for (auto& [key, parts] : parts_) addWhole(key, parts);
    parts_.clear();
  }

  /// The bytes of a stage's message are those that it sends on, and those of the gradient sent back
  /// to it.
  void addBytes(const Event& send) {
    const std::int32_t stage = send.kind == JobKind::kSendForward ? send.stage : send.stage - 1;
    if (send.stage < 0 || stage < 0) return;
    if (const auto bytes = bytesOf(timeline_, send)) bytes_[stage].push_back(*bytes);
  }

  Nanoseconds transfer() const {
    Durations durations;
    const auto isWanted = [&](const Event& event) { return isMeasured(event); };
    for (const auto& [sender, receiver, send, receive] : matchedMessages(timeline_, isWanted)) {
      if (!isOfRanks(sender) || !isOfRanks(receiver)) continue;
      durations.push_back(
          std::max<Nanoseconds>(0, receive->end - std::max(send->begin, receive->begin)));
    }
    return medianOf(durations);
  }

  const Timeline& timeline_;
  Phase phase_;
  const CountedSteps& counted_;
  const std::vector<int>& ranks_;
  // By stage: durations of forward, backward, its halves, fused pairs, recomputes.
  std::map<std::int32_t, std::array<Durations, 6>> stages_;
  std::map<PartsKey, Parts> parts_;                          // of the track that is read
  std::map<std::int32_t, std::vector<std::int64_t>> bytes_;  // of messages, by stage
  std::map<std::pair<ReductionKey, int>, Interval> reductions_;
  std::map<std::int32_t, Durations> reductionsOf_;  // by stage; without one: agreements
  Durations lr_;
  Durations optimizer_;
};

}  // namespace

Costs measuredCosts(const Run& run) { return measuredCosts(run, run.usualSteps()); }

Costs measuredCosts(const Run& run, const CountedSteps& counted, const std::vector<int>& ranks) {
  return Measuring(run.timeline(), counted, ranks).costs();
}

}  // namespace pipetrace
