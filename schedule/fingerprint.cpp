#include "schedule/fingerprint.h"

#include <algorithm>
#include <cstdio>

namespace pipetrace {
namespace {

class NumberHash {
 public:
  void add(std::int64_t number) {
    // Each step is one to one in both: a single other number can not be made good by the rest.
    state_ = mixed(state_ ^ static_cast<std::uint64_t>(number));
  }
  void add(const std::vector<int>& numbers) {
    add(static_cast<std::int64_t>(numbers.size()));
    for (const int number : numbers) add(number);
  }
  std::uint64_t value() const { return state_; }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }

  std::uint64_t state_ = 0x9e3779b97f4a7c15U;  // 2^64 divided by the golden ratio
};

/// The enumerators of JobKind may change, these not.
int codeOf(JobKind kind) {
  switch (kind) {
    case JobKind::kForward: return 1;
    case JobKind::kBackward: return 2;
    case JobKind::kBackwardInput: return 3;
    case JobKind::kBackwardWeight: return 4;
    case JobKind::kForwardBackward: return 5;
    case JobKind::kSendForward: return 6;
    case JobKind::kRecvForward: return 7;
    case JobKind::kSendBackward: return 8;
    case JobKind::kRecvBackward: return 9;
    case JobKind::kRecompute: return 10;
    default: return 0;  // no action of a plan
  }
}

/// As ever for one rank a stage, and for two in both directions.
void addPlacement(const Plan& plan, NumberHash& hash) {
  const bool isBidirectional = plan.isBidirectional();
  std::vector<int> first;
  std::vector<int> second;
  for (const std::vector<int>& ranks : plan.placement.ranksOfStage) {
    first.push_back(ranks.front());
    if (isBidirectional) second.push_back(ranks.back());
  }
  hash.add(first);
  hash.add(second);
  hash.add(isBidirectional ? plan.placement.run : 0);
  if (plan.placement.hasSeveralRanks() && !isBidirectional) {
    for (const std::vector<int>& ranks : plan.placement.ranksOfStage) hash.add(ranks);
    hash.add(plan.placement.run);
  }
  if (plan.replicas != 1) hash.add(plan.replicas);
}

/// As ever where all stages have one number.
void addUpdates(const Plan& plan, NumberHash& hash) {
  const int every = plan.updates.ofAllStages();
  const bool areDifferent = every == 0 && plan.isAsynchronous();
  hash.add(areDifferent ? -1 : every);
  for (const int ofStage : plan.updates.every) {
    if (areDifferent) hash.add(ofStage);
  }
}

}  // namespace

std::uint64_t fingerprint(const Plan& plan) {
  NumberHash hash;
  hash.add(plan.numStages);
  hash.add(plan.numMicroBatches);
  hash.add(plan.numRanks());
  for (const auto& actions : plan.ranks) {
    hash.add(std::count_if(actions.begin(), actions.end(),
                           [](const Action& action) { return !isDataParallel(action.kind); }));
    for (const Action& action : actions) {
      if (isDataParallel(action.kind)) continue;
      for (const int number : {codeOf(action.kind), action.stage, action.microBatch,
                               action.backwardStage, action.backwardMicroBatch}) {
        hash.add(number);
      }
      if (!action.isPart()) continue;
      hash.add(-1);  // no action begins with that
      hash.add(action.part);
    }
  }
  addPlacement(plan, hash);
  addUpdates(plan, hash);
  hash.add(plan.updates.doubleBuffered ? 1 : 0);
  hash.add(plan.credits);
  return hash.value();
}

std::string fingerprintText(std::uint64_t fingerprint) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(fingerprint));
  return text;
}

}  // namespace pipetrace
