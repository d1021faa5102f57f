#include "tests/layers/source_tree.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace pipetrace::layers {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = PIPETRACE_SOURCE_DIR;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::vector<SourceFile> sourcesIn(const std::string& folder) {
  std::vector<SourceFile> sources;
  if (!fs::exists(kRoot / folder)) return sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    sources.push_back({fs::relative(entry.path(), kRoot).string(), contents(entry.path())});
  }
  return sources;
}

std::string architecture() { return contents(kRoot / "docs/architecture.md"); }

}  // namespace pipetrace::layers
