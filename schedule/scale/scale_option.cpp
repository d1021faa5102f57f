#include "schedule/scale/scale_option.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

using enum JobKind;

constexpr std::string_view kTransferWord = "transfer";
constexpr std::string_view kCollectiveWord = "collective";

std::vector<JobKind> kindsOf(std::initializer_list<JobGroup> groups) {
  std::vector<JobKind> kinds;
  for (const JobGroup group : groups) {
    for (const JobKindRow& row : kJobKinds) {
      if (row.group == group) kinds.push_back(row.kind);
    }
  }
  return kinds;
}

/// Kinds that have the name of the job log.
std::vector<JobKind> logKinds() { return kindsOf({JobGroup::kCompute, JobGroup::kBeside}); }

[[noreturn]] void refuseScale(const std::string& text, const std::string& why) {
  throw Error("--scale " + text + ": " + why);
}

[[noreturn]] void refuseForm(const std::string& text) {
  refuseScale(text,
              "write it as stage=2:1.3, rank=5:0.9, link=1-2:0.5 or kind=backward:1.2, with a "
              "factor above 0 of at most nine decimals");
}

int numberOf(const std::string& text, std::string_view digits) {
  const auto number = parseNumber<int>(digits);
  if (!number || *number < 0) refuseForm(text);
  return *number;
}

std::vector<JobKind> kindsNamed(const std::string& text, std::string_view word) {
  if (word == kTransferWord) return kindsOf({JobGroup::kSend, JobGroup::kRecv});
  if (word == kCollectiveWord) return kindsOf({JobGroup::kCollective});
  for (const JobKind kind : logKinds()) {
    if (logName(kind) != word) continue;
    if (kind == kBackward) return {kBackward, kBackwardInput, kBackwardWeight};
    return {kind};
  }
  refuseScale(text, "the kinds are " + scaleKinds());
}

void scaleTime(const ScaleOption& scale, Nanoseconds& time) {
  if (time > 0) time = scale.scaled(time);  // below 0: it follows from others
}

void scaleStage(const ScaleOption& scale, StageCosts& stage) {
  for (Nanoseconds* const time :
       {&stage.forward, &stage.backward, &stage.backwardInput, &stage.backwardWeight,
        &stage.forwardBackward, &stage.recompute}) {
    scaleTime(scale, *time);
  }
}

/// The times of a kind in the costs; none for a kind that plans have no time for.
std::vector<Nanoseconds*> timesOf(JobKind kind, Costs& costs) {
  if (kind == kLr) return {&costs.lr};
  if (kind == kOptimizer) return {&costs.optimizer};
  std::vector<Nanoseconds*> times;
  if (kind == kSendForward) {
    times.push_back(&costs.transfer);
    for (Faults::Link& link : costs.faults.links) times.push_back(&link.transfer);
  }
  if (kind == kAllReduce) times.push_back(&costs.scalarAllReduce);
  for (StageCosts& stage : costs.stages) {
    switch (kind) {
      case kForward: times.push_back(&stage.forward); break;
      case kBackward: times.push_back(&stage.backward); break;
      case kBackwardInput: times.push_back(&stage.backwardInput); break;
      case kBackwardWeight: times.push_back(&stage.backwardWeight); break;
      case kForwardBackward: times.push_back(&stage.forwardBackward); break;
      case kRecompute: times.push_back(&stage.recompute); break;
      case kAllReduce: times.push_back(&stage.reduction); break;
      default: break;
    }
  }
  return times;
}

void scaleKind(const ScaleOption& scale, Costs& costs) {
  std::vector<Nanoseconds*> times;
  for (const JobKind kind : scale.kinds) {
    const std::vector<Nanoseconds*> more = timesOf(kind, costs);
    times.insert(times.end(), more.begin(), more.end());
  }
  if (times.empty()) refuseScale(scale.text, "a plan has no time for such jobs");
  for (Nanoseconds* const time : times) scaleTime(scale, *time);
}

void requireRank(const ScaleOption& scale, const Plan& plan, int rank) {
  if (rank < plan.numRanks()) return;
  refuseScale(scale.text, "the plan has ranks 0 to " + std::to_string(plan.numRanks() - 1));
}

void scaleLink(const ScaleOption& scale, const Plan& plan, Costs& costs) {
  for (const int rank : {scale.number, scale.peer}) requireRank(scale, plan, rank);
  if (!exchangeMessages(plan, scale.number, scale.peer)) {
    refuseScale(scale.text, "no message moves between ranks " + std::to_string(scale.number) +
                                " and " + std::to_string(scale.peer));
  }
  const Nanoseconds time = costs.transferBetween(scale.number, scale.peer);
  costs.faults.links.push_back({scale.number, scale.peer, scale.scaled(time)});
}

void scaleRank(const ScaleOption& scale, const Plan& plan, Costs& costs) {
  requireRank(scale, plan, scale.number);
  const auto stageOf = [](const Action& action) { return static_cast<std::size_t>(action.stage); };
  std::vector<bool> isOwn;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    isOwn.push_back(plan.ranksOf(stage) == std::vector<int>{scale.number});
  }
  // The jobs of other stages, by how long they are now.
  for (const Action& action : plan.ranks[static_cast<std::size_t>(scale.number)]) {
    if (!isCompute(action.kind) || isOwn[stageOf(action)]) continue;
    const Nanoseconds time =
        costs.timeOf(action) + costs.faults.of(action, Faults::kEveryStep).longer;
    costs.faults.jobs.push_back({.action = action, .longer = scale.scaled(time) - time});
  }
  for (int stage = 0; stage < plan.numStages; ++stage) {
    if (isOwn[static_cast<std::size_t>(stage)]) {
      scaleStage(scale, costs.stages[static_cast<std::size_t>(stage)]);
    }
  }
}

}  // namespace

Nanoseconds ScaleOption::scaled(Nanoseconds time) const {
  return std::llround(static_cast<double>(time) * static_cast<double>(billionths) / kOne);
}

bool ScaleOption::covers(JobKind kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

ScaleOption parseScale(const std::string& text, ZeroScale zero) {
  const std::string_view all(text);
  const std::size_t equals = all.find('=');
  const std::size_t colon = all.rfind(':');
  if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals) {
    refuseForm(text);
  }
  ScaleOption scale;
  scale.text = text;
  const std::string_view what = all.substr(0, equals);
  const std::string_view which = all.substr(equals + 1, colon - equals - 1);
  if (what == "stage" || what == "rank") {
    scale.of = what == "stage" ? ScaleOption::Of::kStage : ScaleOption::Of::kRank;
    scale.number = numberOf(text, which);
  } else if (what == "link") {
    scale.of = ScaleOption::Of::kLink;
    const std::size_t dash = which.find('-');
    if (dash == std::string_view::npos) refuseForm(text);
    scale.number = numberOf(text, which.substr(0, dash));
    scale.peer = numberOf(text, which.substr(dash + 1));
  } else if (what == "kind") {
    scale.of = ScaleOption::Of::kKind;
    scale.kinds = kindsNamed(text, which);
  } else {
    refuseForm(text);
  }
  constexpr std::int64_t kLargestFactor = 1'000'000;
  const auto factor = parseDecimalTime(all.substr(colon + 1), ScaleOption::kOne);
  if (!factor || *factor < 0) refuseForm(text);
  if (*factor > kLargestFactor * ScaleOption::kOne) {
    refuseScale(text, "the factor is at most " + std::to_string(kLargestFactor));
  }
  const bool mayBeZero = zero == ZeroScale::kOfKinds && scale.of == ScaleOption::Of::kKind;
  if (*factor == 0 && !mayBeZero) refuseScale(text, "the factor is above 0");
  scale.billionths = *factor;
  return scale;
}

std::string scaleKinds() {
  std::string words;
  for (const JobKind kind : logKinds()) words += std::string(logName(kind)) + ", ";
  return words + std::string(kTransferWord) + ", " + std::string(kCollectiveWord);
}

void applyScales(std::span<const ScaleOption> scales, const Plan& plan, Costs& costs) {
  using Of = ScaleOption::Of;
  for (const ScaleOption& scale : scales) {
    if (scale.of == Of::kKind) scaleKind(scale, costs);
    if (scale.of != Of::kStage) continue;
    if (scale.number >= plan.numStages) {
      refuseScale(scale.text, "the plan has stages 0 to " + std::to_string(plan.numStages - 1));
    }
    scaleStage(scale, costs.stages[static_cast<std::size_t>(scale.number)]);
  }
  for (const ScaleOption& scale : scales) {
    if (scale.of == Of::kRank) scaleRank(scale, plan, costs);
    if (scale.of == Of::kLink) scaleLink(scale, plan, costs);
  }
}

bool exchangeMessages(const Plan& plan, int rank, int peer) {
  for (int stage = 0; stage + 1 < plan.numStages; ++stage) {
    for (int microBatch = 0; microBatch < plan.numMicroBatches; ++microBatch) {
      const int from = plan.rankOf(stage, microBatch);
      const int to = plan.rankOf(stage + 1, microBatch);
      if (std::minmax(from, to) == std::minmax(rank, peer)) return true;
    }
  }
  return false;
}

std::optional<Nanoseconds> parseSignedTime(std::string_view text) {
  constexpr std::pair<std::string_view, Nanoseconds> kUnits[] = {
      {"ns", 1}, {"us", kNsPerUs}, {"ms", kNsPerMs}, {"s", kNsPerSecond}};
  for (const auto& [unit, length] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto time = parseDecimalTime(text.substr(0, text.size() - unit.size()), length);
    if (time) return time;
  }
  return std::nullopt;
}

std::optional<Nanoseconds> parseTime(std::string_view text) {
  const auto time = parseSignedTime(text);
  return time && *time >= 0 ? time : std::nullopt;
}

Faults::Link parseLink(const std::string& text) {
  const std::size_t at = text.rfind('=');
  const auto time =
      at == std::string::npos ? std::nullopt : parseTime(std::string_view(text).substr(at + 1));
  if (!time) {
    throw Error("--link " + text + ": write it as 1-2=4ms, with ns, us, ms or s");
  }
  const std::string_view ranks = std::string_view(text).substr(0, at);
  const std::size_t dash = ranks.find('-');
  const auto rank = parseNumber<int>(ranks.substr(0, dash));
  const auto peer =
      dash == std::string_view::npos ? std::nullopt : parseNumber<int>(ranks.substr(dash + 1));
  if (!rank || !peer || *rank < 0 || *peer < 0) {
    throw Error("--link " + text + ": write it as 1-2=4ms, with the two ranks");
  }
  return {.rank = *rank, .peer = *peer, .transfer = *time};
}

}  // namespace pipetrace
