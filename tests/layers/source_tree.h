#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trace/testing/folders.h"

namespace pipetrace::layers {

inline const std::filesystem::path kRoot = test::inSources(".");  ///< of the tree

struct SourceFile {
  std::string path;  ///< from the root of the tree, as includes are written
  std::string text;
};

/// Every C++ and CUDA source in a folder of the tree, and below it. None where there is no such
/// folder: a package of sources may lack one.
std::vector<SourceFile> sourcesIn(const std::string& folder);

/// The text of docs/architecture.md and docs/map.md.
std::string architecture();

}  // namespace pipetrace::layers
