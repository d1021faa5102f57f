#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace {

/// Something that keeps a plan from running.
struct Problem {
  int rank = -1;  ///< -1: not about one rank
  int cell = -1;  ///< index into the rank's actions; -1: not about one action
  std::string message;
  std::int64_t line = 0;    ///< of the file that was read, from 1; 0: not about one line
  std::int64_t column = 0;  ///< in bytes, from 1; with a line only
};

/// "rank 2, cell 5: …", without line and column
std::string toText(const Problem& problem);

/// Problems in the order in which they were found: the first kMost, and how many there are.
class ProblemList {
 public:
  static constexpr std::size_t kMost = 100;

  /// Calls `makeText()` only for problems that are kept: a plan may have millions.
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
