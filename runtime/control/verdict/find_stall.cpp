#include "runtime/control/verdict/find_stall.h"

#include <algorithm>
#include <vector>

namespace pipetrace {
namespace {

FailureCause causeOf(CauseKind kind, int rank, const RankView& view) {
  FailureCause cause;
  cause.kind = kind;
  cause.rank = rank;
  cause.status = view.status;
  cause.lasted = kind == CauseKind::kSilent ? view.silent : view.status.idle;
  return cause;
}

// Each rank of the path waits for the next one, the last one for the first.
FailureCause cycleOf(std::span<const int> path, std::span<const RankView> views) {
  const auto idle = [&](int rank) { return views[static_cast<std::size_t>(rank)].status.idle; };
  const int culprit = *std::max_element(path.begin(), path.end(), [&](int a, int b) {
    return idle(a) != idle(b) ? idle(a) < idle(b) : a > b;
  });
  FailureCause cause =
      causeOf(CauseKind::kCycle, culprit, views[static_cast<std::size_t>(culprit)]);
  // Told from the culprit on, so that all ranks tell it alike.
  const auto from =
      static_cast<std::size_t>(std::find(path.begin(), path.end(), culprit) - path.begin());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const int rank = path[(from + i) % path.size()];
    cause.cycle.push_back({.rank = rank, .status = views[static_cast<std::size_t>(rank)].status});
  }
  return cause;
}

std::optional<FailureCause> rootOf(int start, std::span<const RankView> views,
                                   const StallLimits& limits, const PlanWords& words) {
  std::vector<int> path;
  for (int rank = start;;) {
    const RankView& view = views[static_cast<std::size_t>(rank)];
    const ActionStatus& status = view.status;
    // Nobody knows where a silent rank is by now. Its words may be late, on a slow link.
    if (view.silent >= limits.stepTimeout) return causeOf(CauseKind::kSilent, rank, view);
    const bool isSilent = view.silent >= limits.silence;
    if (isSilent || status.idle < limits.stepTimeout) return std::nullopt;
    if (!status.isWaiting()) return causeOf(CauseKind::kStalled, rank, view);
    const int peer = status.awaited.peer;
    const bool isRight = peer < static_cast<int>(views.size()) && peer != rank &&
                         (!words.isExpected || words.isExpected(rank, status));
    if (!isRight) return causeOf(CauseKind::kMispaired, rank, view);
    path.push_back(rank);
    const RankView& sender = views[static_cast<std::size_t>(peer)];
    const bool isOver =
        sender.status.finishing || (words.isStillSent && sender.silent < limits.silence &&
                                    !words.isStillSent(rank, status, sender.status));
    if (isOver) return causeOf(CauseKind::kMispaired, rank, view);
    if (const auto met = std::find(path.begin(), path.end(), peer); met != path.end()) {
      return cycleOf({met, path.end()}, views);
    }
    rank = peer;
  }
}

bool standsAsBefore(const ActionStatus& before, const ActionStatus& now) {
  return before.action == now.action && before.ended == now.ended && before.awaited == now.awaited;
}

bool isSame(const FailureCause& before, const FailureCause& now) {
  return before.kind == now.kind && before.rank == now.rank &&
         standsAsBefore(before.status, now.status) &&
         std::equal(before.cycle.begin(), before.cycle.end(), now.cycle.begin(), now.cycle.end(),
                    [](const FailureCause::Member& a, const FailureCause::Member& b) {
                      return a.rank == b.rank && standsAsBefore(a.status, b.status);
                    });
}

}  // namespace

std::optional<FailureCause> findStall(std::span<const RankView> views, const StallLimits& limits,
                                      const PlanWords& words) {
  if (limits.stepTimeout <= 0) return std::nullopt;
  for (std::size_t rank = 0; rank < views.size(); ++rank) {
    if (views[rank].status.finishing) continue;
    if (auto cause = rootOf(static_cast<int>(rank), views, limits, words)) return cause;
  }
  return std::nullopt;
}

std::optional<FailureCause> StallWatch::look(std::span<const RankView> views,
                                             const StallLimits& limits, const PlanWords& words,
                                             Nanoseconds now) {
  std::optional<FailureCause> found = findStall(views, limits, words);
  const bool isBefore = found && suspected_ && isSame(*suspected_, *found);
  if (!isBefore) since_ = now;
  suspected_ = found;
  if (!found) return found;
  const bool waits = found->kind == CauseKind::kMispaired || found->kind == CauseKind::kCycle;
  if (waits && now - since_ < limits.silence) found.reset();
  return found;
}

}  // namespace pipetrace
