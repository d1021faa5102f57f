#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "trace/log/log_lines.h"
#include "trace/rank_info.h"
#include "trace/text/in_place_text.h"
#include "trace/text/millisecond_printer.h"

namespace pipetrace {

/// Formats the lines of the job log (docs/log-format.md), each with its newline, at the end of a
/// text. The caller writes the text to a file. Allocates only when the text has to grow. Not
/// thread-safe: it keeps the texts of the last seconds.
class LogWriter {
 public:
  /// `threadId`: the thread that the glog prefix of each line names.
  explicit LogWriter(int threadId = 0) : threadId_(threadId) {}

  /// Lines written from now on carry this wall-clock time (ns since the epoch) in their glog
  /// prefix.
  void setNow(Nanoseconds now) { now_ = now; }

  void append(InPlaceText& out, const JobLine& line);
  void append(InPlaceText& out, const StreamLine& line);
  void append(InPlaceText& out, const NcclLine& line);
  void append(InPlaceText& out, const KernelLine& line);
  void append(InPlaceText& out, const CounterLine& line);
  void append(InPlaceText& out, const ClockReading& reading);

  /// `Profiler Meta:`: rank and the fields of `info` that are given, and the name of the run's ring
  /// file (trace/log/ring_format.h), if there is one.
  void appendMeta(InPlaceText& out, const RankInfo& info, std::string_view ringFile = {});
  /// `Profiler End:`: the last group of fields of `info`.
  void appendEnd(InPlaceText& out, const RankInfo& info);

  // The same for a std::string.
  template <typename Line>
  void append(std::string& out, const Line& line) {
    line_.clear();
    append(line_, line);
    out += line_.text();
  }
  void appendMeta(std::string& out, const RankInfo& info, std::string_view ringFile = {}) {
    line_.clear();
    appendMeta(line_, info, ringFile);
    out += line_.text();
  }
  void appendEnd(std::string& out, const RankInfo& info) {
    line_.clear();
    appendEnd(line_, info);
    out += line_.text();
  }

 private:
  friend class StreamLineWriter;
  std::string_view prefix();

  int threadId_;
  Nanoseconds now_ = 0;
  Nanoseconds prefixNow_ = kNsMin;  // the time in prefix_
  std::time_t cachedSecond_ = -1;
  std::string secondText_;
  std::string prefix_;
  std::size_t prefixSize_ = 0;
  MillisecondPrinter times_;
  InPlaceText line_;
};

/// Appends `value` as the log writes it: bare when it matches [\w.+:/-]+ (ASCII), else as a JSON
/// string in double quotes.
void appendLogValue(std::string& out, std::string_view value);

}  // namespace pipetrace
