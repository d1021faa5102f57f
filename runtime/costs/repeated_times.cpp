#include "runtime/costs/repeated_times.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace pipetrace {
namespace {

constexpr std::size_t kEnoughRuns = 20;
constexpr double kApart = 0.02;  // of the times of both halves
constexpr Nanoseconds kShort = 10'000;

/// The shortest times, up to a tenth longer than the first.
std::span<const Nanoseconds> undisturbed(const std::vector<Nanoseconds>& sorted) {
  const Nanoseconds longest = sorted.front() + sorted.front() / 10;
  const auto end = std::upper_bound(sorted.begin(), sorted.end(), longest);
  return {sorted.begin(), end};
}

Nanoseconds timeOf(std::span<const Nanoseconds> runs) {
  if (runs.empty()) return 0;
  std::vector<Nanoseconds> sorted(runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end());
  const auto shortest = undisturbed(sorted);
  return shortest[(shortest.size() - 1) / 2];
}

bool isSettled(std::span<const Nanoseconds> runs) {
  if (runs.size() < kEnoughRuns) return false;
  std::vector<Nanoseconds> sorted(runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < kShort) return true;
  if (3 * undisturbed(sorted).size() < 2 * sorted.size()) return false;
  const auto half = static_cast<std::ptrdiff_t>(runs.size() / 2);
  const auto first = static_cast<double>(timeOf(runs.first(static_cast<std::size_t>(half))));
  const auto second = static_cast<double>(timeOf(runs.subspan(static_cast<std::size_t>(half))));
  return std::max(first, second) <= (1 + kApart) * std::min(first, second);
}

}  // namespace

Nanoseconds RepeatedTimes::of(const Job& job) const {
  const auto found = times_.find(job);
  return found == times_.end() ? 0 : timeOf(found->second);
}

bool RepeatedTimes::areSettled() const {
  return !times_.empty() && std::all_of(times_.begin(), times_.end(), [](const auto& each) {
    return each.first.kind == JobKind::kOptimizer || isSettled(each.second);
  });
}

void repeatRounds(const RoundsWanted& wanted, const std::function<Nanoseconds()>& now,
                  const std::function<void(int round)>& run, const RepeatedTimes& times) {
  constexpr int kMostRounds = 1000;
  constexpr int kBetweenLooks = 10;  // whether the times are settled
  const Nanoseconds begin = now();
  bool areSettled = false;
  for (int round = 0; round <= kMostRounds; ++round) {
    const Nanoseconds taken = now() - begin;
    if (round % kBetweenLooks == 0) areSettled = times.areSettled();
    const bool isWanted =
        round <= wanted.rounds || taken < wanted.atLeast || (taken < wanted.atMost && !areSettled);
    if (!isWanted) return;
    run(round);
  }
}

}  // namespace pipetrace
