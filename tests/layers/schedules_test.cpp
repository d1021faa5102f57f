// A schedule is known by its row alone (schedule/builders/schedule_info.h).
#include <gmock/gmock.h>

#include <regex>
#include <string>
#include <vector>

#include "schedule/build_schedule.h"
#include "tests/layers/layer_table.h"
#include "tests/layers/source_tree.h"

namespace pipetrace::layers {
namespace {

/// Where rows stand.
bool hasRows(const std::string& path) {
  return path.starts_with("schedule/builders/") || path == "schedule/search/auto_schedule.cpp";
}

std::vector<std::string> firstGroups(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

/// The texts in quotes, without those of comments.
std::vector<std::string> literalsOf(const std::string& text) {
  static const std::regex comment("//[^\n]*");
  static const std::regex literal(R"re("([^"\\\n]+)")re");
  return firstGroups(std::regex_replace(text, comment, ""), literal);
}

TEST(SchedulesTest, NoSourceAsksForAScheduleByItsNameInText) {
  std::vector<std::string> names = scheduleNames();
  std::erase(names, "auto");  // a word of several options
  int files = 0;
  for (const auto& [folder, allowed] : parseLayerTable(architecture()).mayInclude) {
    for (const auto& [path, text] : sourcesIn(folder)) {
      // The training program of the documentation says what its readers will.
      if (isTest(path) || hasRows(path) || path == "samples/first_training/main.cpp") continue;
      ++files;
      for (const std::string& literal : literalsOf(text)) {
        EXPECT_THAT(names, testing::Not(testing::Contains(literal)))
            << path << ": a schedule is known by its row";
      }
    }
  }
  EXPECT_GT(files, 1000);
  EXPECT_THAT(literalsOf("if (name == \"ZBV\") return;  // \"GPipe\""),
              testing::ElementsAre("ZBV"));
}

TEST(SchedulesTest, EveryRowIsInTheList) {
  const std::regex name(R"re(\bcomplete\(\{\s*\.name = "([^"]+)")re");
  std::vector<std::string> rows;
  for (const auto& [path, text] : sourcesIn("schedule")) {
    if (!hasRows(path)) continue;
    for (const std::string& row : firstGroups(text, name)) rows.push_back(row);
  }
  EXPECT_THAT(rows, testing::UnorderedElementsAreArray(scheduleNames()));
}

}  // namespace
}  // namespace pipetrace::layers
