#include "schedule/options/schedule_options.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "schedule/file/schedule_file.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const ScheduleOption& rowOf(const std::string& key) {
  for (const ScheduleOption& row : kScheduleOptions) {
    for (const std::string& each : keysOf(row)) {
      if (each == key) return row;
    }
  }
  throw std::out_of_range(key);
}

std::vector<std::string> namesOf(const OptionFace& face) {
  std::vector<std::string> names;
  std::string rest = face.names == nullptr ? "" : face.names;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    names.push_back(rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  return names;
}

TEST(ScheduleOptionsTest, NoTwoOptionsOfACommandLineShareAName) {
  for (const bool isTrained : {false, true}) {
    std::set<std::string> names;
    for (const ScheduleOption& row : kScheduleOptions) {
      for (const std::string& name : namesOf(isTrained ? row.trained : row.planned)) {
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
    EXPECT_GE(names.size(), 10U);
  }
}

TEST(ScheduleOptionsTest, OptionsNeedAndExcludeOthersOfTheSameCommandLine) {
  for (const bool isTrained : {false, true}) {
    std::set<std::string> names;
    for (const ScheduleOption& row : kScheduleOptions) {
      for (const std::string& name : namesOf(isTrained ? row.trained : row.planned)) {
        names.insert(name);
      }
    }
    for (const ScheduleOption& row : kScheduleOptions) {
      const OptionFace& face = isTrained ? row.trained : row.planned;
      for (const char* const other : face.excludes) {
        if (other == nullptr) continue;
        EXPECT_EQ(names.count(other), 1U) << face.names << " " << other;
      }
      if (face.needs == nullptr) continue;
      EXPECT_EQ(names.count(face.needs), 1U) << face.names;
    }
  }
}

TEST(ScheduleOptionsTest, KeysOfConfigurationFilesAreTheNamesOfAllCommandLines) {
  EXPECT_THAT(keysOf(rowOf("stages")), ElementsAre("stages", "ranks"));
  EXPECT_THAT(keysOf(rowOf("last_backward_parts")), ElementsAre("last_backward_parts"));
  EXPECT_TRUE(takesFile(rowOf("schedule_file")));
  EXPECT_FALSE(takesFile(rowOf("schedule")));
  EXPECT_THROW(rowOf("credits"), std::out_of_range);  // trainings do not have it
}

TEST(ScheduleOptionsTest, ATextSetsItsField) {
  ScheduleOptions options;
  setFromText(options, rowOf("schedule"), "ZB-H1");
  setFromText(options, rowOf("dp"), "3");
  setFromText(options, rowOf("chunks"), "0");
  EXPECT_EQ(options.schedule, "ZB-H1");
  EXPECT_EQ(options.replicas, 3);
  EXPECT_EQ(options.chunks, 0);
  EXPECT_FALSE(options.ranks.has_value());
}

TEST(ScheduleOptionsTest, ATextThatIsNoNumberIsRefusedWithTheLeast) {
  ScheduleOptions options;
  for (const char* const text : {"0", "two", "", "1.5", "99999999999"}) {
    EXPECT_THAT([&] { setFromText(options, rowOf("buckets"), text); },
                ThrowsMessage<Error>(HasSubstr("it is no number from 1 on")))
        << text;
  }
  EXPECT_THAT([&] { setFromText(options, rowOf("chunks"), "-1"); },
              ThrowsMessage<Error>(HasSubstr("from 0 on")));
  EXPECT_THAT([&] { setFromText(options, rowOf("schedule"), ""); },
              ThrowsMessage<Error>(HasSubstr("it is empty")));
}

TEST(ScheduleOptionsTest, TrainingsHaveTheUsualValuesWhereNoneAreGiven) {
  ScheduleOptions options{.schedule = "GPipe", .microBatches = 2};
  takeUsual(options);
  EXPECT_EQ(options.schedule, "GPipe");
  EXPECT_EQ(options.ranks, 4);
  EXPECT_EQ(options.microBatches, 2);
  EXPECT_EQ(options.replicas, 1);
  EXPECT_FALSE(options.credits.has_value());
  EXPECT_THAT(options.stageRanks, IsEmpty());
}

TEST(ScheduleOptionsTest, APlanIsBuiltAndChangedAsAsked) {
  const ScheduleOptions options{
      .ranks = 2, .microBatches = 2, .replicas = 2, .credits = 1, .lastBackwardParts = 2};
  Plan plan = options.build();
  options.change(plan);
  EXPECT_EQ(plan.replicas, 2);
  EXPECT_EQ(plan.credits, 1);
  EXPECT_THAT(toCsv(plan), HasSubstr("0F0,0F1,0B0,0B1\n"));
  options.cutGradients(plan);
  EXPECT_THAT(toCsv(plan), HasSubstr("0F0,0F1,0B0,0B1.0,0B1.1\n"));
}

TEST(ScheduleOptionsTest, ThePlanOfNoOptionIsOneRankOf1F1B) {
  const Plan plan = ScheduleOptions().build();
  EXPECT_EQ(plan.name, "1F1B");
  EXPECT_EQ(plan.numRanks(), 1);
  EXPECT_EQ(plan.numMicroBatches, 1);
}

}  // namespace
}  // namespace pipetrace
