#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "viewer/testing/profile.h"

namespace pipetrace {

/// A folder of job logs that grow step by step, as those of a running program do.
class GrowingLogs {
 public:
  explicit GrowingLogs(const TestRun& run) : ranks_(run.ranks), whole_(run) {
    for (int rank = 0; rank < run.ranks; ++rank) readLines(rank);
  }

  std::string path() const { return folder_.path().toStdString(); }

  /// Appends the lines of the steps before `end` that are not there yet.
  void growTo(int end) {
    for (; next_ < end; ++next_) {
      for (int rank = 0; rank < ranks_; ++rank) append(rank, lines_[{rank, next_}]);
    }
  }
  /// Appends the last lines: the program ends.
  void close() {
    for (int rank = 0; rank < ranks_; ++rank) append(rank, lines_[{rank, kLast}]);
  }

 private:
  static constexpr int kLast = 1 << 20;

  static std::string nameOf(int rank) { return "/workerlog." + std::to_string(rank); }

  void readLines(int rank) {
    std::ifstream in(whole_.path() + nameOf(rank));
    for (std::string line; std::getline(in, line);) {
      const std::size_t at = line.find(" step = ");
      const bool isFirst = line.find("Profiler Meta") != std::string::npos;
      const int step = at != std::string::npos ? std::stoi(line.substr(at + 8))
                       : isFirst               ? 0
                                               : kLast;
      lines_[{rank, step}] += line + "\n";
    }
  }

  void append(int rank, const std::string& text) const {
    std::ofstream(path() + nameOf(rank), std::ios::app | std::ios::binary) << text;
  }

  int ranks_;
  TestLogs whole_;
  QTemporaryDir folder_;
  std::map<std::pair<int, int>, std::string> lines_;  // by rank and step
  int next_ = 0;
};

}  // namespace pipetrace
