#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chart/loads/load_sums.h"

namespace pipetrace {

/// The sums of folded rows, made on a thread of its own when they are first asked for. All lanes
/// that it was given must outlive it. Thread-safe. The thread
/// is stopped when it is destroyed or replaced.
class LoadCache {
 public:
  LoadCache();
  ~LoadCache();
  LoadCache(LoadCache&&) noexcept;
  LoadCache& operator=(LoadCache&&) noexcept;

  /// The sums of `lanes`, which `key` names; null until they are ready.
  std::shared_ptr<const LoadSums> find(const std::string& key,
                                       const std::vector<const LaneIndex*>& lanes) const;
  /// Waits until all sums are ready that were asked for.
  void wait() const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace pipetrace
