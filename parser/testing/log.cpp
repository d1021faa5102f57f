#include "parser/testing/log.h"

namespace pipetrace::test {

const std::vector<Event>& LogResult::compute(int rank) const {
  static const std::vector<Event> kNone;
  const Track* track = timeline.findTrack(rank, kComputeLane);
  return track == nullptr ? kNone : track->events;
}

std::string LogResult::argument(const Event& event, std::string_view key) const {
  for (const Argument& a : timeline.argumentsOf(event)) {
    if (timeline.strings[a.key] != key) continue;
    if (a.type == ArgumentType::kText) return "'" + std::string(timeline.strings[a.text]) + "'";
    return a.type == ArgumentType::kInteger ? std::to_string(a.integer) : std::to_string(a.real);
  }
  return "none";
}

LogResult readLog(const std::string& log, ReadRequest request) {
  LogResult result;
  ByteSource source("log", log);
  Diagnostics diagnostics;
  result.outcome = JobLogReader().read(source, request, result.timeline, diagnostics);
  result.timeline.sort();
  for (const Diagnostic& d : diagnostics.list()) result.diagnostics.push_back(toText(d));
  return result;
}

std::string jobLine(int begin, int end, const std::string& tail, const std::string& type) {
  return "Profiler Info: Job (0), type = " + type +
         ", micro_batch_id = 0, job_start_time = " + std::to_string(begin) +
         ".000000, job_end_time = " + std::to_string(end) + ".000000" + tail + "\n";
}

}  // namespace pipetrace::test
