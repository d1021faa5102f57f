#include "tests/layers/source_tree.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "trace/testing/file_text.h"

namespace pipetrace::layers {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<SourceFile> sourcesIn(const std::string& folder) {
  std::vector<SourceFile> sources;
  if (!fs::exists(kRoot / folder)) return sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    sources.push_back({fs::relative(entry.path(), kRoot).string(), test::fileText(entry.path())});
  }
  return sources;
}

std::string architecture() {
  return test::fileText(kRoot / "docs/architecture.md") + test::fileText(kRoot / "docs/map.md");
}

}  // namespace pipetrace::layers
