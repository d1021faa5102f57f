#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/chrome/arrow_ends.h"
#include "parser/foreign/chrome_process.h"
#include "parser/foreign/kineto_trace.h"
#include "parser/profile/profile_metadata.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// What the pieces of one Chrome trace have given so far, by process and thread.
struct ChromeTrace {
  Timeline& timeline;  ///< whose strings and arguments the events use
  Diagnostics& diagnostics;
  const std::string& file;  ///< names the input in diagnostics
  std::map<ChromeId, ChromeProcess> processes;
  std::optional<ProfileMetadata> metadata;  ///< the trace is one of ours
  KinetoInfo kineto;
  std::int64_t elements = 0;         ///< of the array of events
  std::int64_t arrowEnds = 0;        ///< `s`, `t`, `f`
  std::int64_t arrows = 0;           ///< `t`, `f`
  std::int64_t firstArrow = 0;       ///< its line
  std::vector<ChromeArrowEnd> ends;  ///< of arrows, in their order; none of a trace of ours
  double read = 0;                   ///< this part of the input, about; 0: not known

  /// In a profile of ours in array form each process says what is known of its rank.
  void addMetadataOfRank(std::string_view json);
};

}  // namespace pipetrace
