#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// How a file to read was found.
enum class FoundBy : std::uint8_t {
  kName,     ///< the user named it
  kLogName,  ///< in a folder, called workerlog.<rank>
  kEnding,   ///< in a folder, with an ending that traces have
};

/// A file to read and the rank that its name or place gives.
struct FoundLog {
  std::string path;
  std::optional<int> rank;
  FoundBy by = FoundBy::kName;
  std::optional<int> nameRank{};  ///< see ReadRequest::nameRank; findLogs() leaves it empty
};

/// The rank in a file name `workerlog.<rank>`, perhaps with `.gz` or `.zst`; nothing for any other
/// name.
std::optional<int> rankOfLogName(const std::string& fileName);

/// Whether `a` comes before `b` when runs of digits count as numbers: machine2 before machine10. A
/// strict order: texts that differ only in leading zeros are ordered by their bytes.
bool naturallyBefore(std::string_view a, std::string_view b);

/// Throws Error when `path` is a FIFO. Opening one waits for a writer, for ever if none comes, and
/// a user who gives the name of a log means a file.
void refuseFifo(const std::string& path);

/// Finds the files of a folder, and of all folders in it, that may be logs or traces. Logs come
/// first; each sort is in the natural order of its paths:
/// - `workerlog.<rank>`. In a folder that holds `machine<i>/workerlog.<d>` and no log itself, the
///   ranks are counted through all machines in the order of i and d. With `.gz` or `.zst` behind
///   the rank as well, unless the same is there without it (reported), and has the line that opens
///   a job log in its first MiB: else that is what the rank printed.
/// - `*.json`, `*.pftrace`, `*.sqlite`, and `*.json` with `.gz` or `.zst` behind it.
///
/// Names that start with a dot are passed over. Each folder and each file is taken once, under the
/// first name that leads to it. Links are followed, but not to a folder that they are in. Where
/// they lead out of `folder`, they are not followed to another file system, nor more than three
/// folders below their target. A note in `diagnostics` names what is left out.
///
/// Entries with a fitting name that are no files (FIFOs, sockets, devices, links to nowhere) are
/// reported as well, and so are inner folders that cannot be read. Throws Error when `folder`
/// itself cannot be read or nothing was found.
///
/// `asTexts`: logs of any program are searched: `*.log`, `*.out` and `*.txt`, compressed or not,
/// take the place of the traces.
std::vector<FoundLog> findLogs(const std::string& folder, Diagnostics& diagnostics,
                               bool asTexts = false);

}  // namespace pipetrace
