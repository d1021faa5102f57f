#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// A file to read and the rank that its name or place gives.
struct FoundLog {
  std::string path;
  std::optional<int> rank;
};

/// The rank in a file name `workerlog.<rank>`; nothing for any other name.
std::optional<int> rankOfLogName(const std::string& fileName);

/// The job logs of a folder, by rank: `workerlog.<rank>` in the folder itself, or, when there is
/// none, `machine<i>/workerlog.<d>`, where the ranks are counted through all machines in the order
/// of i and d. No other folder is looked into, so links that lead back cannot trap it. Throws Error
/// when the folder cannot be read or holds no log.
std::vector<FoundLog> findLogs(const std::string& folder);

}  // namespace pipetrace
