#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>

#include "tests/layers/layer_table.h"
#include "tests/layers/source_tree.h"

namespace pipetrace::layers {
namespace {

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
