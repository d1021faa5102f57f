#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/job_log/lines/log_scanner.h"
#include "parser/job_log/lines/rank_part.h"
#include "parser/job_type.h"

namespace pipetrace {

/// Reads by hand the lines of jobs, streams and counters as our log writer and PaddlePaddle write
/// them, which are nearly all lines of ours. LogEvents reads the same lines to the same events, and
/// all others. These are the parts of a job's line:
///
///     I1020 09:15:07.265326 22317 log_writer.cpp:1]     any text: read() begins after it
///     Profiler Info: Job (2)                            the mark, and the head in this order
///     , type = forward, micro_batch_id = 2
///     , job_start_time = 1697793307213.760986
///     , job_end_time = 1697793307254.006104
///     , id = 41, step = 7, stage = 1                    fields of Event, in any order
///     , action = 1F2, note = "a, b = c"                 others: arguments, but `stream = compute`
///
/// A stream's line has the head `Profiler Stream: type = send_forward, micro_batch_id = 2,
/// start_time = …, end_time = …, stream = send`, where micro_batch_id may be missing. A counter's
/// line is `Profiler Counter: name = memory, time = …, value = 6.25`.
class CanonicalLines {
 public:
  /// `strings` must outlive it.
  explicit CanonicalLines(StringTable& strings) : strings_(strings) {}

  /// Sets where the events go from now on. `part` must keep its place and its lanes until the next
  /// call.
  void setPart(RankPart& part);

  /// Reads the line whose mark begins `text`, and adds its event or sample. Returns the length of
  /// the line with its end. Returns 0, with nothing added, where the line is not canonical or needs
  /// a diagnostic.
  std::size_t read(std::string_view text);

 private:
  /// A type of jobs that came before.
  struct KnownType {
    std::string text;
    JobType type;
    StringId name = 0;
  };

  /// The parts of the present line.
  struct Line {
    Event event;
    bool isJob = false;
    std::string_view lane;
  };

  bool readJob(LogScanner& scan, Line& line);
  bool readStream(LogScanner& scan, Line& line);
  bool readCounter(LogScanner& scan);
  bool readFields(LogScanner& scan, Line& line);
  bool readField(LogScanner& scan, Line& line, std::string_view key);
  static bool readPhase(LogScanner& scan, Event& event);
  bool readText(LogScanner& scan, Line& line, std::string_view key);
  void setType(Event& event, std::string_view type);
  void add(const Line& line);

  StringTable& strings_;
  RankPart* part_ = nullptr;
  std::vector<std::pair<std::string, std::vector<Event>*>> lanes_;  // of part_, as far as used
  CounterSeries* counter_ = nullptr;                                // of part_, the latest
  std::array<KnownType, 32> types_;                                 // by hash
  std::vector<Argument> arguments_;                                 // of the present line
  std::string latestKey_;                                           // of an argument
  StringId latestKeyId_ = 0;
};

}  // namespace pipetrace
