#include "apps/cli/schedule_options.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "apps/cli/command_app.h"

namespace pipetrace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// The error of a command line; empty without one.
std::string refusalOf(const std::vector<std::string>& arguments, int mostRanks = 8) {
  CommandApp app("test");
  ScheduleOptions options;
  addScheduleOptions(app, options, mostRanks, "Schedule");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleFlagsTest, EveryOptionOfAPlanIsInTheHelpAndInTheTableOfFlags) {
  CommandApp app("test");
  ScheduleOptions options;
  addScheduleOptions(app, options, 8, "Schedule");
  const FlagTable table = flagTableOf(app, "", "");
  for (const ScheduleOption& row : kScheduleOptions) {
    const std::string names = row.planned.names;
    const CLI::Option* const option = app.get_option(names.substr(0, names.find(',')));
    EXPECT_EQ(option->get_description(), helpOf(row.planned));
    EXPECT_EQ(option->get_group(), "Schedule");
    const auto flag = std::find_if(table.flags.begin(), table.flags.end(), [&](const Flag& each) {
      return each.names.back() == "--" + option->get_lnames().front();
    });
    ASSERT_NE(flag, table.flags.end()) << row.planned.names;
    EXPECT_EQ(flag->value, row.planned.value == nullptr ? "" : row.planned.value);
  }
  EXPECT_THAT(app.wordsOf(app.get_option("--schedule")), Contains("ZB-H1"));
}

TEST(ScheduleFlagsTest, ValuesOutOfRangeAndContradictionsAreRefused) {
  EXPECT_EQ(refusalOf({"--schedule", "1F1B", "--ranks", "8", "--micro-batches", "9"}), "");
  EXPECT_THAT(refusalOf({"--ranks", "9"}), HasSubstr("9 not in range"));
  EXPECT_THAT(refusalOf({"--buckets", "0"}), HasSubstr("0 not in range"));
  EXPECT_EQ(refusalOf({"--credits", "0"}), "");
  EXPECT_THAT(refusalOf({"--schedule", ""}), HasSubstr("it is empty"));
  EXPECT_THAT(refusalOf({"--schedule-file", "a", "--schedule", "b"}), HasSubstr("excludes"));
  EXPECT_THAT(refusalOf({"--chunks", "2"}), HasSubstr("requires --schedule"));
}

}  // namespace
}  // namespace pipetrace
