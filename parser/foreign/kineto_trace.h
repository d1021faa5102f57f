#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/rank_info.h"

namespace pipetrace {

struct ForeignTrace;

/// The fields of a trace of PyTorch's profiler (Kineto) besides its events.
struct KinetoInfo {
  bool isThere = false;  ///< one of its fields was
  std::optional<int> rank;
  std::string backend;  ///< of torch.distributed; empty: not given
  std::optional<int> worldSize;
  std::string run;   ///< `distributedInfo` without the rank, as JSON; empty: not there
  std::string host;  ///< `host_name`
  std::vector<CommunicationGroup>
      groups;  ///< `pg_config`: those of the rank, each set of ranks once
  /// The ranks of each of its groups by `pg_name`, which other ranks may give another group.
  std::map<std::string, std::vector<int>, std::less<>> ranksOfGroups;
  std::optional<Nanoseconds> base;  ///< since the Unix epoch; what its times count from

  /// Whether the key is that of a field of the file that is read here.
  static bool isField(std::string_view key);

  /// Reads the JSON of such a field, if it makes sense.
  void readField(std::string_view key, std::string_view json);
};

/// Adds a group to those of a rank. If the same ranks are there already, the name that says their
/// axis counts, and so does use.
void addGroup(std::vector<CommunicationGroup>& groups, const CommunicationGroup& group);

/// Whether events have categories that PyTorch's profiler (Kineto) gives.
bool hasKinetoCategories(const ForeignTrace& trace);

}  // namespace pipetrace
