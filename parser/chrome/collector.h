#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parser/chrome/trace.h"
#include "parser/foreign/chrome_process.h"
#include "parser/foreign/foreign_trace.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// Makes tracks of the threads of a Chrome trace, once all names and the origin of time are known.
class ChromeCollector {
 public:
  /// `trace` must outlive it.
  explicit ChromeCollector(ChromeTrace& trace)
      : trace_(trace), timeline_(trace.timeline), diagnostics_(trace.diagnostics) {}

  /// Adds everything to the timeline and returns the number of events. Call it once.
  std::int64_t finish(const ReadRequest& request);

 private:
  using Row = ChromeProcess::Thread;
  using Edge = ChromeProcess::Edge;

  void matchEdges(Row& row);
  void shiftToEpoch(std::vector<Event>& events, Nanoseconds origin);
  std::int64_t finishOurs();
  std::int64_t finishForeign(const ReadRequest& request);
  ForeignTrace foreignTrace(const ReadRequest& request);
  std::vector<ForeignTrace::ForwardArrow> forwardArrows() const;
  void shiftForeign(ForeignTrace& trace, Nanoseconds base);
  void reportArrows();
  void reportMissingBase(const ForeignTrace& trace);
  void reportOtherRank(const ForeignTrace& trace);
  std::int64_t moveRow(Row& row, int rank, const std::string& lane);
  void complain(const char* message, std::int64_t line, const char* advice = "",
                std::int64_t count = 1);

  ChromeTrace& trace_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
};

}  // namespace pipetrace
