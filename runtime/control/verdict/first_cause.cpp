#include "runtime/control/verdict/first_cause.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

namespace pipetrace {

namespace {

bool isBefore(const Observation& a, const Observation& b) {
  return std::tie(a.noticed, a.cause.rank, a.cause.kind) <
         std::tie(b.noticed, b.cause.rank, b.cause.kind);
}

// How many observers noticed a rank first, and when somebody did.
struct Votes {
  int count = 0;
  Nanoseconds noticed = kNsMax;
};

bool isDeath(const Observation& one) { return one.cause.kind == CauseKind::kDied; }
bool isStop(const Observation& one) { return one.cause.kind == CauseKind::kStopped; }

int firstRank(std::span<const Observation> all) {
  // Launchers stop the other ranks when one has died.
  const bool haveAllStopped = std::all_of(all.begin(), all.end(), isStop);
  const bool hasAnyDied = std::any_of(all.begin(), all.end(), isDeath);
  std::map<int, const Observation*> firsts;  // by observer
  std::map<int, Votes> votes;                // by culprit
  for (const Observation& one : all) {
    if (isStop(one) && !haveAllStopped) continue;
    if (isSilence(one.cause.kind) && hasAnyDied) continue;
    const Observation*& first = firsts[one.observer];
    if (first == nullptr || isBefore(one, *first)) first = &one;
    Votes& culprit = votes[one.cause.rank];
    culprit.noticed = std::min(culprit.noticed, one.noticed);
  }
  for (const auto& [observer, first] : firsts) ++votes[first->cause.rank].count;
  const auto best = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    if (a.second.count != b.second.count) return a.second.count < b.second.count;
    if (a.second.noticed != b.second.noticed) return a.second.noticed > b.second.noticed;
    return a.first > b.first;
  });
  return best->first;
}

}  // namespace

FailureCause firstCause(std::span<const Observation> all) {
  assert(!all.empty());
  const int rank = firstRank(all);
  const Observation* told = nullptr;
  const ActionStatus* latest = nullptr;
  for (const Observation& one : all) {
    if (one.cause.rank != rank) continue;
    const auto order = [](const Observation& o) { return std::tie(o.cause.kind, o.observer); };
    if (told == nullptr || order(one) < order(*told)) told = &one;
    if (latest == nullptr || one.cause.status.sequence > latest->sequence) {
      latest = &one.cause.status;
    }
  }
  FailureCause cause = told->cause;
  cause.status = *latest;
  return cause;
}

}  // namespace pipetrace
