#pragma once

#include <cstddef>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Visits the jobs of a rank over all its lanes in startsBefore order. Among equal jobs those of
/// the first lane come first.
class RankJobs {
 public:
  /// Visits the jobs whose kind `isWanted`. `timeline` must be sorted and stay as it is.
  RankJobs(const Timeline& timeline, int rank, bool (*isWanted)(JobKind));

  /// The next job; null at the end.
  const Event* next() {
    if (lanes_.size() != 1) return nextOfSeveral();
    Lane& only = lanes_.front();
    skipUnwanted(only);
    return only.at == only.end ? nullptr : only.at++;
  }

 private:
  struct Lane {
    const Event* at = nullptr;
    const Event* end = nullptr;
    std::size_t order = 0;
  };

  static bool comesLater(const Lane& a, const Lane& b);
  void skipUnwanted(Lane& lane) const {
    while (lane.at != lane.end && !isWanted_(lane.at->kind)) ++lane.at;
  }
  const Event* nextOfSeveral();

  bool (*isWanted_)(JobKind);
  std::vector<Lane> lanes_;  // if several, a heap; each is at a wanted job
};

}  // namespace pipetrace
