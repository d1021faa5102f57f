#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "parser/job_log/lines/log_line.h"
#include "parser/job_log/lines/rank_part.h"

namespace pipetrace {

/// Turns the lines of one log into the events, samples and facts of a rank's part. Faults of a line
/// go into the part's findings.
class LogEvents {
 public:
  /// `strings` must outlive it.
  explicit LogEvents(StringTable& strings) : strings_(strings) {}

  /// `line`: the whole line of the job, for its PaddlePaddle part. The other functions get the text
  /// after their mark. `number` is the line's, for findings.
  void addJob(RankPart& part, std::string_view line, std::int64_t number);
  void addStream(RankPart& part, std::string_view payload, std::int64_t number);
  void addKernel(RankPart& part, std::string_view payload, std::int64_t number);
  void addCounter(RankPart& part, std::string_view payload, std::int64_t number);

 private:
  struct Span;

  void setType(Event& event, std::string_view type);
  void addField(RankPart& part, Event& event, const LogFields::Field& field, std::int64_t number);
  void finish(RankPart& part, Event& event, std::string_view lane, std::int64_t number);
  bool addSpanField(RankPart& part, Span& span, const LogFields::Field& field, std::int64_t number);
  void addSpan(RankPart& part, std::string_view payload, JobKind kind, std::int64_t number);

  StringTable& strings_;
  std::vector<Argument> arguments_;  // of the present event
};

}  // namespace pipetrace
