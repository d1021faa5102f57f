#pragma once

#include <cstdint>
#include <vector>

#include "schedule/check/problem.h"

namespace pipetrace {

/// Problems in the order in which they were found: the first kMost, and how many there are.
class ProblemList {
 public:
  static constexpr std::size_t kMost = 100;

  /// `makeText()` is called for what is kept only: a plan may have millions of problems.
  template <typename MakeText>
  void add(int rank, int cell, const MakeText& makeText) {
    if (++count_ <= static_cast<std::int64_t>(kMost)) list_.push_back({rank, cell, makeText()});
  }
  void add(Problem problem);
  void append(const ProblemList& other);
  void append(const std::vector<Problem>& other);

  bool empty() const { return count_ == 0; }
  std::int64_t count() const { return count_; }
  /// The first of them, and "and 5 more" for the rest.
  std::vector<Problem> toVector(std::size_t most = kMost) const;

 private:
  std::vector<Problem> list_;
  std::int64_t count_ = 0;
};

}  // namespace pipetrace
