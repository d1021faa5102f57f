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

TEST(SchedulesTest, NoSourceAsksForAScheduleByItsNameInText) {
  const std::regex literal(R"re("([^"\\\n]+)")re");
  int files = 0;
  for (const auto& [folder, allowed] : parseLayerTable(architecture()).mayInclude) {
    for (const auto& [path, text] : sourcesIn(folder)) {
      // The training program of the documentation says what its readers will.
      if (isTest(path) || hasRows(path) || path == "samples/first_training/main.cpp") continue;
      ++files;
      for (const std::string& name : firstGroups(text, literal)) {
        // The names of schedules, but no words that mean something else elsewhere ("auto").
        const bool isName = isSchedule(name) && scheduleInfo(name).name == name && name != "auto";
        EXPECT_FALSE(isName) << path << " has \"" << name
                             << "\"; what is known of a schedule stands in its row";
      }
    }
  }
  EXPECT_GT(files, 1000);
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
