#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pipetrace::layers {

/// The tables of docs/architecture.md and docs/map.md.
struct LayerTable {
  std::map<std::string, int> layer;                         ///< folder -> its layer
  std::map<std::string, std::set<std::string>> mayInclude;  ///< folder -> folders it may include
  /// Room, or the root of a folder -> those of the same folder that it may include. Names are paths
  /// from the root of the tree: "parser/json", "parser".
  std::map<std::string, std::set<std::string>> rooms;
  std::set<std::string> openRooms;  ///< those that may include every room of their folder
  /// Prefix of a third-party header ("torch/", "nlohmann/", "Q" for Qt) -> folders that may use it.
  std::map<std::string, std::set<std::string>> thirdParty;
};

/// Reads the tables out of the Markdown text. Throws std::runtime_error when one is missing.
LayerTable parseLayerTable(const std::string& markdown);

/// Whether the file is a test, or a helper that only tests link.
bool isTest(const std::string& path);

/// Every header that `source` includes with quotes, as it is written there.
std::vector<std::string> ownIncludesOf(const std::string& source);

/// The room, or the root of a folder, in which a file or a header is.
std::string roomOf(const std::string& path);

/// Finds what is wrong with the includes of one file, one sentence each. `path` is relative to the
/// root. Tests may include every room of the folders that they may include.
std::vector<std::string> checkIncludes(const LayerTable& table, const std::string& path,
                                       const std::string& source);

}  // namespace pipetrace::layers
