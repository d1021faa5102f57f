#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/chrome/arrow_ends.h"
#include "parser/foreign/chrome_process.h"
#include "parser/foreign/kineto_trace.h"
#include "parser/profile/common_format.h"
#include "parser/profile/profile_metadata.h"
#include "parser/trace_reader.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Everything that was read of one Chrome trace so far, by process and thread.
struct ChromeTrace {
  Timeline& timeline;  ///< holds the strings and arguments of the events
  Diagnostics& diagnostics;
  const std::string& file;  ///< names the input in diagnostics
  std::map<ChromeId, ChromeProcess> processes;
  std::optional<ProfileMetadata> metadata;  ///< the trace is one of ours
  KinetoInfo kineto;
  RecordedProcess recorded;
  std::int64_t elements = 0;         ///< of the array of events
  std::int64_t arrowEnds = 0;        ///< `s`, `t`, `f`
  std::int64_t arrows = 0;           ///< `t`, `f`
  std::int64_t firstArrow = 0;       ///< its line
  std::vector<ChromeArrowEnd> ends;  ///< of arrows, in their order; none for a trace of ours
  double read = 0;                   ///< about which part of the input has been read; 0: not known

  /// Adds the metadata of one rank: in array form, each process of a profile of ours has its own.
  void addMetadataOfRank(std::string_view json);
};

inline void ChromeTrace::addMetadataOfRank(std::string_view json) {
  const std::string whole =
      "{\"" + std::string(common_format::kOurs) + "\":" + std::string(json) + "}";
  auto more = readProfileMetadata(whole);
  if (!more) return;
  if (!metadata) metadata.emplace();
  metadata->format = more->format;
  metadata->origin = more->origin;
  for (auto& [rank, info] : more->ranks) metadata->ranks[rank] = std::move(info);
}

}  // namespace pipetrace
