#include "viewer/words/job_fields.h"

#include <gmock/gmock.h>

#include "chart/testing/timelines.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string valueOf(const std::vector<JobField>& fields, const char* name) {
  for (const JobField& field : fields) {
    if (field.name == name) return field.value.toStdString();
  }
  return "(none)";
}

TEST(JobFieldsTest, AllKnownFieldsOfAJobAreListed) {
  const Timeline timeline = makeTestTimeline({});
  const ChartModel model(timeline);
  const ChartRow& row = model.rows()[3];
  const Event& job = row.lanes[0][1];
  const auto fields = jobFields(model, row, job);
  EXPECT_EQ(valueOf(fields, "Name"), "forward 0");
  EXPECT_EQ(valueOf(fields, "Kind"), "forward");
  EXPECT_EQ(valueOf(fields, "Rank"), "1");
  EXPECT_EQ(valueOf(fields, "Lane"), "compute");
  EXPECT_EQ(valueOf(fields, "Step"), "0");
  EXPECT_EQ(valueOf(fields, "Micro-batch"), "0");
  EXPECT_EQ(valueOf(fields, "Stage"), "1");
  EXPECT_EQ(valueOf(fields, "Start"), "11.100000 ms");  // 0.1 lr, 10 forward, 1 transfer
  EXPECT_EQ(valueOf(fields, "End"), "21.100000 ms");
  EXPECT_EQ(valueOf(fields, "Duration"), "10.00 ms (10000000 ns)");
  EXPECT_EQ(valueOf(fields, "Peer"), "(none)");
  EXPECT_EQ(valueOf(fields, "Class"), "(none)");
  EXPECT_EQ(valueOf(fields, "Culprit"), "(none)");
}

TEST(JobFieldsTest, ATransferHasItsPeerAndBytes) {
  const Timeline timeline = makeTestTimeline({});
  const ChartModel model(timeline);
  const ChartRow& send = model.rows()[2];
  ASSERT_EQ(send.lane, "send");
  const auto fields = jobFields(model, send, send.lanes[0][0]);
  EXPECT_EQ(valueOf(fields, "Name"), "send_forward 0");
  EXPECT_EQ(valueOf(fields, "Peer"), "1");
  EXPECT_EQ(valueOf(fields, "Bytes"), "1048576 (1.00 MiB)");
}

TEST(JobFieldsTest, ABubbleHasItsClass) {
  const Timeline timeline = makeTestTimeline({});
  const ChartModel model(timeline);
  const auto fields = jobFields(model, model.rows()[0], model.rows()[0].bubbles[0][0]);
  EXPECT_EQ(valueOf(fields, "Kind"), "bubble");
  EXPECT_EQ(valueOf(fields, "Class"), "unknown");
  EXPECT_EQ(valueOf(fields, "Meaning"), "no cause was found");
  EXPECT_EQ(valueOf(fields, "Culprit"), "(none)");
}

TEST(JobFieldsTest, ABubbleHasItsCulpritInsteadOfPeerAndJob) {
  Timeline timeline = makeTestTimeline({});
  Event& bubble = timeline.track(0, kBubbleLane).events.front();
  bubble.bubbleClass = BubbleClass::kPeerWait;
  bubble.peer = 2;
  bubble.job = 77;
  const auto culprit = [&] {
    const ChartModel model(timeline);
    return valueOf(jobFields(model, model.rows()[0], bubble), "Culprit");
  };
  EXPECT_EQ(culprit(), "rank 2");
  const Argument name = Argument::ofText(timeline.strings.intern(bubble_arguments::kCulprit),
                                         timeline.strings.intern("2F5"));
  timeline.setArguments(bubble, {&name, 1});
  EXPECT_EQ(culprit(), "2F5 on rank 2");
  const ChartModel model(timeline);
  const auto fields = jobFields(model, model.rows()[0], bubble);
  EXPECT_EQ(valueOf(fields, "Class"), "peer wait");
  EXPECT_EQ(valueOf(fields, "Meaning"), "a job took longer than its like");
  for (const char* absent : {"Peer", "Job id", "culprit"}) {
    EXPECT_EQ(valueOf(fields, absent), "(none)") << absent;
  }
}

TEST(TooltipTest, NamesFromALogCannotBreakTheMarkup) {
  Timeline timeline;
  Event event{.begin = 0, .end = 1000};
  event.name = timeline.strings.intern("<b>&name</b>" + std::string(500, 'x'));
  const Argument argument =
      Argument::ofText(timeline.strings.intern("<key>"), timeline.strings.intern("<img src=x>"));
  timeline.setArguments(event, {&argument, 1});
  timeline.track(0, "<lane>").events.push_back(event);
  const ChartModel model(timeline);
  ChartHit hit;
  hit.event = &model.rows()[0].lanes[0][0];
  hit.count = 1;
  const std::string text = tooltipText(model, hit).toStdString();
  EXPECT_THAT(text, AllOf(HasSubstr("&lt;b&gt;&amp;name"), HasSubstr("&lt;key&gt;"),
                          HasSubstr("&lt;img"), HasSubstr("&lt;lane&gt;")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_LT(text.size(), 2000U);
}

TEST(TooltipTest, APixelOfSeveralJobsShowsTheirShareOfIt) {
  const Timeline timeline = makeTestTimeline({});
  const ChartModel model(timeline);
  ChartHit hit;
  hit.event = &model.rows()[0].lanes[0][1];
  hit.count = 12;
  hit.load.busy = 25 * kNsPerMs;
  hit.span = 100 * kNsPerMs;
  EXPECT_THAT(tooltipText(model, hit).toStdString(),
              AllOf(HasSubstr("12 jobs in this pixel"), HasSubstr("25.0 % of 100.0 ms"),
                    HasSubstr("forward 0, 10.00 ms")));
}

}  // namespace
}  // namespace pipetrace
