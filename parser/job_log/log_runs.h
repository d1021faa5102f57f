#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parser/job_log/log_block_parser.h"
#include "trace/string_remap.h"

namespace pipetrace {

/// Puts the shares of one log together to the runs of its ranks, of which the wanted ones are kept.
class LogRuns {
 public:
  /// `wanted`: which run of each rank, -1 for the last. `isOfOneRank`: the file's name gives its
  /// rank. `strings`, in which all strings end up, must outlive it.
  LogRuns(int wanted, bool isOfOneRank, StringTable& strings);

  /// Takes the share that comes next in the log; its events and arguments may be changed. `own` are
  /// the strings of the share, and `remap` is kept for them from one call to the next. `upTo` says
  /// which part of the log has come with it (0: not known), to foresee how many events there will
  /// be.
  void add(LogShare& share, const StringTable& own, StringRemap& remap, double upTo);

  /// The wanted run of each rank; at least one. Throws Error, which calls the log `name`, when a
  /// rank has fewer runs. Call it once.
  std::vector<LogRun> take(const std::string& name);

  /// The ring files of the runs that take() would give now and that were not closed.
  std::vector<std::string> openRings() const;

  std::int64_t lineCount() const { return lines_; }
  std::int64_t jobLineCount() const { return jobLines_; }

 private:
  /// The runs of one rank, of which the wanted one is kept.
  struct RankRuns {
    std::optional<int> rank;  ///< as its Meta lines say
    LogRun run;               ///< the wanted one, or, until it comes, one before it
    int index = 0;            ///< of the latest run
    bool begun = false;       ///< a Meta line or a job has come
  };

  void addAbout(const LogStretch::About& about);
  void beginRun(const std::string& payload, std::int64_t number);
  bool switchTo(std::optional<int> rank);
  void addEvents(LogRun& share, const StringRemap& strings, double upTo);
  bool isWanted() const { return wanted_ < 0 || ranks_[current_].index == wanted_; }
  LogRun& run() { return ranks_[current_].run; }
  std::string tooFewRuns(const RankRuns& rank, const std::string& name) const;

  int wanted_;
  bool isOfOneRank_;
  StringTable& strings_;
  std::vector<RankRuns> ranks_;
  std::size_t current_ = 0;  // index in ranks_
  std::int64_t lines_ = 0;
  std::int64_t jobLines_ = 0;
};

}  // namespace pipetrace
