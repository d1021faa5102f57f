#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "tests/layers/layer_table.h"
#include "tests/layers/source_tree.h"
#include "trace/testing/folders.h"

namespace pipetrace::layers {
namespace {

namespace fs = std::filesystem;

std::vector<SourceFile> allSources() {
  std::vector<SourceFile> all;
  for (const auto& [folder, allowed] : parseLayerTable(architecture()).mayInclude) {
    for (SourceFile& source : sourcesIn(folder)) all.push_back(std::move(source));
  }
  return all;
}

std::ptrdiff_t linesOf(const SourceFile& source) {
  return std::count(source.text.begin(), source.text.end(), '\n');
}

/// "parser/job_type.h", "parser/job_type.cpp" and "parser/job_type_test.cpp" are one entry.
std::string entryOf(const fs::path& path) {
  std::string stem = path.stem();
  constexpr std::string_view kTest = "_test";
  if (stem.ends_with(kTest)) stem.resize(stem.size() - kTest.size());
  return stem;
}

TEST(SizesTest, NoFolderHasMoreThan30Entries) {
  constexpr std::size_t kMost = 30;
  for (const auto& [folder, allowed] : parseLayerTable(architecture()).mayInclude) {
    const fs::path root = fs::path(test::inSources(folder));
    if (!fs::exists(root)) continue;
    std::map<fs::path, std::set<std::string>> entries;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      entries[entry.path().parent_path()].insert(entryOf(entry.path()));
    }
    for (const auto& [path, names] : entries) EXPECT_LE(names.size(), kMost) << path;
  }
}

TEST(SizesTest, NoSourceFileHasMoreThan400Lines) {
  constexpr std::ptrdiff_t kMost = 400;
  for (const SourceFile& source : allSources()) EXPECT_LE(linesOf(source), kMost) << source.path;
}

TEST(SizesTest, HalfOfTheSourceFilesHaveAtMost80Lines) {
  std::vector<std::ptrdiff_t> lengths;
  for (const SourceFile& source : allSources()) lengths.push_back(linesOf(source));
  ASSERT_FALSE(lengths.empty());
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::nth_element(lengths.begin(), middle, lengths.end());
  std::cout << lengths.size() << " source files, median " << *middle << " lines\n";
  EXPECT_LE(*middle, 80);
}

}  // namespace
}  // namespace pipetrace::layers
