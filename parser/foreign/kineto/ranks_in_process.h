#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// The ranks of a process that drives several devices, or several threads that compute, each with
/// stages of its own: each of them is a rank.
class RanksInProcess {
 public:
  /// Where jobs ran: a device or a thread of the process.
  struct Place {
    bool isDevice = false;
    std::int64_t number = 0;  ///< what places are in the order of

    auto operator<=>(const Place&) const = default;
  };

  /// One rank.
  explicit RanksInProcess(int rank = 0) : rank_(rank) {}

  /// `jobs`: of the process, each with its number in Event::job. `placeOf`: by that number, where
  /// it is known. Places are ranks if no stage is in two of them, and jobs of different places run
  /// at the same time. The first of N gets the number rank · N.
  RanksInProcess(int rank, const std::vector<Event>& jobs,
                 const std::map<std::int64_t, Place>& placeOf);

  bool areSeveral() const { return !ranks_.empty(); }
  int rankOfPlace(const Place& place) const;
  int rankOfJob(std::int64_t job) const;
  const std::map<Place, int>& ranks() const { return ranks_; }

 private:
  int rank_;
  std::map<Place, int> ranks_;
  std::map<std::int64_t, Place> placeOf_;
};

}  // namespace pipetrace
