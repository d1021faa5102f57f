#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Whether spans run at the same time as others of them, for more than a hundredth of the time of
/// all: jobs that touch do not.
bool doOverlap(std::vector<Timeline::Span> spans);

/// Says that devices, or threads, of one process are taken for these ranks.
std::string ranksInProcessNote(bool areDevices, int first, int last);

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
  /// at the same time. Where no job names its stage, each place has forwards and backwards. The
  /// first of N gets the number rank · N.
  RanksInProcess(int rank, const std::vector<Event>& jobs,
                 const std::map<std::int64_t, Place>& placeOf);

  bool areSeveral() const { return !ranks_.empty(); }
  std::size_t count() const { return areSeveral() ? ranks_.size() : 1; }
  int rankOfPlace(const Place& place) const;
  int rankOfJob(std::int64_t job) const;
  const std::map<Place, int>& ranks() const { return ranks_; }
  /// "devices of one process whose jobs run at the same time are taken for ranks 0 to 3, in the
  /// order of their numbers", counted from `first` on. There must be several.
  std::string note(int first) const;

 private:
  int rank_;
  std::map<Place, int> ranks_;
  std::map<std::int64_t, Place> placeOf_;
};

}  // namespace pipetrace
