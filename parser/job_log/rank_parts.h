#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parser/job_log/log_block_parser.h"
#include "trace/strings/string_remap.h"

namespace pipetrace {

/// Joins the blocks of one log to the parts of its ranks, and keeps the wanted run of each rank.
class RankParts {
 public:
  /// `wanted`: the number of the run of each rank; -1: the last. `isOfOneRank`: the file's name
  /// gives its rank. `strings` gets all strings and must outlive it.
  RankParts(int wanted, bool isOfOneRank, StringTable& strings);

  /// Adds the next block of the log, whose events and arguments may be changed. `own` holds the
  /// strings of the block; `remap` belongs to `own` and is kept from one call to the next. `upTo`
  /// is the part of the log read so far, this block included (0: not known); it shows how many
  /// events there will be.
  void add(ParsedLogBlock& parsed, const StringTable& own, StringRemap& remap, double upTo);

  /// Returns the wanted run of each rank; at least one. Throws Error, which calls the log `name`,
  /// when a rank has fewer runs. Call it once.
  std::vector<RankPart> take(const std::string& name);

  /// The ring files of the runs that take() would return now and that were not closed.
  std::vector<std::string> openRings() const;

  std::int64_t lineCount() const { return lines_; }
  std::int64_t jobLineCount() const { return jobLines_; }

 private:
  /// The runs of one rank; only the wanted one is kept.
  struct RankRuns {
    std::optional<int> rank;  ///< as its Meta lines say
    RankPart part;            ///< the wanted one, or an earlier one until it comes
    int index = 0;            ///< of the latest part
    bool begun = false;       ///< a Meta line or a job has come
  };

  void addAbout(const LogSection::About& about);
  void beginRun(const std::string& payload, std::int64_t number);
  bool switchTo(std::optional<int> rank);
  void addEvents(RankPart& added, const StringRemap& strings, double upTo);
  bool isWanted() const { return wanted_ < 0 || ranks_[current_].index == wanted_; }
  RankPart& part() { return ranks_[current_].part; }
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
