// JSON has a point in its numbers, also where the process's locale has a comma, as Qt sets it.
#include "trace/testing/german_locale.h"

#include <gmock/gmock.h>

#include "parser/foreign/logs/pipeline_logger_reader.h"
#include "parser/testing/read_chrome.h"

namespace pipetrace {
namespace {

using ReadingInGerman = test::GermanLocaleTest;

TEST_F(ReadingInGerman, FractionsOfTraceEventsStayWhatTheyAre) {
  for (const char* const args : {"{}", R"({"deep":{"er":0.25}})"}) {
    const test::Reading r =
        test::readChrome(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":-4.5,"dur":1.25,"args":)" +
                         std::string(args) +
                         R"(}, {"ph" : "X", "name":"b","pid":1,"tid":1,"ts":1.5e3,"dur":0.001}])");
    ASSERT_EQ(r.timeline.eventCount(), 2U) << args;
    const std::vector<Event>& events = r.timeline.tracks[0].events;
    EXPECT_EQ(events[0].begin, -4500);
    EXPECT_EQ(events[0].end, -3250);
    EXPECT_EQ(events[1].begin, 1'500'000);
    EXPECT_EQ(events[1].end, 1'500'001);
    EXPECT_THAT(r.diagnostics, testing::IsEmpty());
  }
}

TEST_F(ReadingInGerman, FractionsOfPipelineLoggersTimesStayWhatTheyAre) {
  const auto r = test::readWith<PipelineLoggerReader>(
      "log.jsonl",
      "{\"rank\":1,\"event\":\"forward_start\",\"minibatch\":0,\"time\":1700000000.25}\n"
      "{\"rank\":1,\"event\":\"forward_end\",\"minibatch\":0,\"time\":1700000000.75}\n",
      {});
  ASSERT_EQ(r.events(1, kComputeLane).size(), 1U);
  const Event& job = r.events(1, kComputeLane)[0];
  EXPECT_EQ(job.begin, 1'700'000'000'250'000'000);
  EXPECT_EQ(job.end, 1'700'000'000'750'000'000);
}

}  // namespace
}  // namespace pipetrace
