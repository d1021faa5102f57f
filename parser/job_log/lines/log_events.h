#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "parser/job_log/lines/log_fields.h"
#include "parser/job_log/lines/log_run.h"

namespace pipetrace {

/// Turns the lines of one log into the events, samples and facts of a run. What is wrong with a
/// line goes into the run's findings.
class LogEvents {
 public:
  /// `strings` must outlive it.
  explicit LogEvents(StringTable& strings) : strings_(strings) {}

  /// `line`: the whole line of the job, for its PaddlePaddle part. The other functions take what
  /// follows their mark. `number` is the line's, for findings.
  void addJob(LogRun& run, std::string_view line, std::int64_t number);
  void addStream(LogRun& run, std::string_view payload, std::int64_t number);
  void addKernel(LogRun& run, std::string_view payload, std::int64_t number);
  void addCounter(LogRun& run, std::string_view payload, std::int64_t number);

 private:
  struct Span;

  void setType(Event& event, std::string_view type);
  void addField(LogRun& run, Event& event, const LogFields::Field& field, std::int64_t number);
  void finish(LogRun& run, Event& event, std::string_view lane, std::int64_t number);
  bool addSpanField(LogRun& run, Span& span, const LogFields::Field& field, std::int64_t number);
  void addSpan(LogRun& run, std::string_view payload, JobKind kind, std::int64_t number);

  StringTable& strings_;
  std::vector<Argument> arguments_;  // of the event at hand
};

}  // namespace pipetrace
