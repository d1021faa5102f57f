#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/control/verdict/verdict.h"

namespace pipetrace {

/// Knows who has not heard of whom. Once one rank is silent, every rank tells all others of which
/// ranks it has not heard. From what the others say follows which hosts are cut off.
///
/// Below, a rank is heard if `self` hears it, or any rank does that `self` hears.
/// Threads: one at a time.
class Reachability {
 public:
  Reachability(int self, int worldSize);

  /// The host of each rank, by rank. Without names, or with an empty one, hosts are not known.
  void hostsAre(const std::vector<std::string>& hosts);
  /// `rank` has not heard of the ranks `missed`. Numbers that are no ranks of the run are ignored.
  void told(int rank, const std::vector<int>& missed);

  /// Whether any rank has told.
  bool hasBegun() const { return hasBegun_; }
  bool hasTold(int rank) const { return !missed_[static_cast<std::size_t>(rank)].empty(); }
  /// Whether `rank` has told that it has not heard of `other`.
  bool misses(int rank, int other) const;

  /// The rank that tells the verdict. It is the lowest of those that are heard, that miss no rank
  /// that is heard, and that none of these misses. If there is none, it is the lowest that is
  /// heard.
  int decider() const;

  /// The cause by hosts, without status and time; nothing where it is a matter of single ranks, or
  /// where hosts are not known or the run has only one.
  ///
  /// If some hosts are not heard at all, these are the cause (kSilent) on the larger side, on any
  /// other the cut is (kCutOff). Larger is a side with more than half of all ranks, or with half of
  /// them and rank 0.
  ///
  /// If all ranks are heard and some hosts miss each other, the cause is one of these hosts
  /// (kSilent, with `missedBy`). It is the one that is cut off from the most ranks, and among
  /// equal hosts the last.
  std::optional<FailureCause> cause() const;

 private:
  int size() const { return static_cast<int>(missed_.size()); }
  bool isHeard(int rank) const;
  std::vector<bool> heard() const;
  FailureCause sideOf(const std::vector<bool>& heard) const;
  std::optional<std::vector<std::vector<bool>>> brokenLinks() const;
  std::optional<FailureCause> mostMissed() const;

  const int self_;
  bool hasBegun_ = false;
  std::vector<std::vector<bool>> missed_;  // by rank, of all ranks; empty: it has told nothing
  std::vector<HostRanks> hosts_;           // by lowest rank; empty: not known
};

}  // namespace pipetrace
