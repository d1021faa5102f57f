#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pipetrace::layers {

/// The two tables of docs/architecture.md.
struct LayerTable {
  std::map<std::string, int> layer;                         ///< folder -> its layer
  std::map<std::string, std::set<std::string>> mayInclude;  ///< folder -> folders it may include
  /// Prefix of a third-party header ("torch/", "nlohmann/", "Q" for Qt) -> folders that may use it.
  std::map<std::string, std::set<std::string>> thirdParty;
};

/// Reads the tables out of the Markdown text. Throws std::runtime_error when one is missing.
LayerTable parseLayerTable(const std::string& markdown);

/// What is wrong with the includes of one file, one sentence each. `path` is relative to the root.
std::vector<std::string> checkIncludes(const LayerTable& table, const std::string& path,
                                       const std::string& source);

}  // namespace pipetrace::layers
