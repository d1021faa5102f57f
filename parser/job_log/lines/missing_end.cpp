#include "parser/job_log/lines/missing_end.h"

namespace pipetrace {
namespace {

const char* messageOf(const MissingEnd& end) {
  switch (end.recorder) {
    case RecorderState::kRecords: return "no Profiler End line: the program still runs";
    case RecorderState::kEnded:
      return "no Profiler End line: the program ended without closing its log";
    case RecorderState::kUnknown: break;
  }
  if (end.ring == MissingEnd::Ring::kNone) return "no Profiler End line: the log was cut off";
  return "no Profiler End line: the program ended without closing its log, or it still runs";
}

const char* adviceOf(const MissingEnd& end) {
  switch (end.ring) {
    case MissingEnd::Ring::kNone: return "jobs after its last line are missing";
    case MissingEnd::Ring::kRead:
      return "the records that it had not written are read from its ring file; only jobs that were "
             "open are missing";
    case MissingEnd::Ring::kReadWithLosses:
      return "the records in its ring file are read; records that were lost before that are "
             "missing, and jobs that were open";
  }
  return "";
}

}  // namespace

Diagnostic MissingEnd::toDiagnostic(const std::string& file) const {
  return {.file = file, .message = messageOf(*this), .advice = adviceOf(*this)};
}

}  // namespace pipetrace
