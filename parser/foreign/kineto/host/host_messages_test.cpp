// Messages of Kineto traces without a device are events of the lanes `send` and `recv`.
#include <gmock/gmock.h>

#include "parser/testing/read_chrome.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using test::KinetoText;
using test::kinetoTimes;
using test::readKineto;
using testing::ElementsAre;
using testing::IsEmpty;

bool hasArgument(const test::Reading& r, const Event& event, std::string_view key) {
  for (const Argument& each : r.timeline.argumentsOf(event)) {
    if (r.timeline.strings[each.key] == key) return true;
  }
  return false;
}

/// "recv_forward 1/3 of job 0: 2 to 500", times in microseconds; "early" where it is marked.
std::vector<std::string> messages(const test::Reading& r, std::string_view lane) {
  std::vector<std::string> list;
  for (const Event& event : r.events(0, lane)) {
    list.push_back(std::string(logName(event.kind)) + " " + std::to_string(event.stage) + "/" +
                   std::to_string(event.microBatch) + " of job " + std::to_string(event.job) +
                   ": " + kinetoTimes(event) +
                   (hasArgument(r, event, message_arguments::kArrived) ? " early" : ""));
  }
  return list;
}

TEST(KinetoMessages, AnnotationsAroundThePostingSayWhatTheMessagesAre) {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 500})
      .annotation("PP:1F3", {.begin = 20, .length = 980})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .annotation("PP:1SEND_F3", {.begin = 1010, .length = 10})
      .send({.posted = 1012, .end = 9000});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_forward 1/3 of job 0: 2 to 500"));
  EXPECT_THAT(messages(r, kSendLane), ElementsAre("send_forward 1/3 of job 0: 1012 to 9000"));
  EXPECT_TRUE(hasArgument(r, r.events(0, kSendLane)[0], device_arguments::kHostEnd));
  for (const Event& event : r.events(0, "thread 1")) {
    EXPECT_FALSE(isTransfer(event.kind)) << "each message is there once";
    EXPECT_NE(r.timeline.strings[event.name], "gloo:recv");
  }
}

TEST(KinetoMessages, OfAnnotationsInEachOtherEachNamesTheMessageOfItsDirection) {
  KinetoText trace;  // as 1F1B posts both at once
  trace.annotation("PP:0F3", {.begin = 0, .length = 100})
      .operation("aten::mm", {.begin = 10, .length = 80})
      .annotation("PP:0SEND_F3", {.begin = 110, .length = 50})
      .annotation("PP:0RECV_B0", {.begin = 115, .length = 40})
      .send({.posted = 120, .end = 900})
      .receive({.posted = 130, .end = 700})
      .annotation("PP:0B0", {.begin = 510, .length = 400})
      .operation("aten::mm", {.begin = 720, .length = 100});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kSendLane), ElementsAre("send_forward 0/3 of job 0: 120 to 900"));
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_backward 0/0 of job 1: 130 to 700"));
}

TEST(KinetoMessages, ReceiveIsEarlyThatEndsAsSoonAsItIsWaitedFor) {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 1099})
      .annotation("PP:1RECV_F4", {.begin = 20, .length = 10})
      .receive({.posted = 22, .end = 3101})
      .annotation("PP:1F3", {.begin = 1000, .length = 1000})
      .operation("aten::mm", {.begin = 1200, .length = 100})
      .annotation("PP:1F4", {.begin = 3000, .length = 1000})
      .operation("aten::mm", {.begin = 3200, .length = 100});
  EXPECT_THAT(messages(readKineto(trace), kRecvLane),
              ElementsAre("recv_forward 1/3 of job 0: 2 to 1099 early",
                          "recv_forward 1/4 of job 1: 22 to 3101"));
}

TEST(KinetoMessages, BackwardOfAFusedPairWaitsAfterItsForward) {
  KinetoText trace;
  trace.annotation("PP:6RECV_B3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 1050})
      .annotation("PP:(0F7;6B3)OVERLAP_F_B", {.begin = 20, .length = 2000})
      .operation("aten::mm", {.begin = 100, .length = 900})
      .operation("autograd::engine::evaluate_function: MmBackward0",
                 {.begin = 1100, .length = 100});
  EXPECT_THAT(messages(readKineto(trace), kRecvLane),
              ElementsAre("recv_backward 6/3 of job 1: 2 to 1050 early"));
}

TEST(KinetoMessages, MessagesInsideAJobAreThatJobs) {
  KinetoText trace;
  trace.annotation("Backward 3", {.begin = 0, .length = 1000})
      .receive({.posted = 2, .end = 500})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .send({.posted = 800, .end = 9000});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_backward -1/3 of job 0: 2 to 500"));
  EXPECT_THAT(messages(r, kSendLane), ElementsAre("send_backward -1/3 of job 0: 800 to 9000"));
}

TEST(KinetoMessages, WithoutOtherWordReceivesAreTheNextJobsAndSendsThoseOfTheJobBefore) {
  KinetoText trace;
  trace
      .receive({.posted = 2, .end = 40})  // tells the shape of the tensor
      .receive({.posted = 50, .end = 500})
      .annotation("PP:1F2", {.begin = 600, .length = 100})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .send({.posted = 710, .end = 1500})
      .receive({.posted = 720, .end = 1505})
      .annotation("PP:1B0", {.begin = 1600, .length = 100})
      .operation("aten::mm", {.begin = 1600, .length = 100});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_forward 1/2 of job 0: 50 to 500",
                                                  "recv_backward 1/0 of job 1: 720 to 1505"));
  EXPECT_THAT(messages(r, kSendLane), ElementsAre("send_forward 1/2 of job 0: 710 to 1500"));
}

/// Each job posts the next one's receive right before it begins. That of job 2 was there when it
/// was waited for, that of job 3 was not.
TEST(KinetoMessages, ReceiveThatIsPostedAheadIsThatOfTheJobAfterTheOneThatRuns) {
  KinetoText trace;
  trace.receive({.posted = 2, .end = 900})
      .receive({.posted = 1010, .end = 1950})
      .annotation("Forward 1", {.begin = 1020, .length = 880})
      .operation("aten::mm", {.begin = 1020, .length = 880})
      .receive({.posted = 2010, .end = 3300})
      .annotation("Forward 2", {.begin = 2020, .length = 880})
      .operation("aten::mm", {.begin = 2020, .length = 880})
      .annotation("Forward 3", {.begin = 3420, .length = 880})
      .operation("aten::mm", {.begin = 3420, .length = 880});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_forward -1/1 of job 0: 2 to 900",
                                                  "recv_forward -1/2 of job 1: 1010 to 1950 early",
                                                  "recv_forward -1/3 of job 2: 2010 to 3300"));
  std::vector<std::string> jobs;
  for (const Event& job : r.events(0, kComputeLane)) jobs.push_back(kinetoTimes(job));
  EXPECT_THAT(jobs, ElementsAre("1020 to 1900", "2020 to 2900", "3420 to 4300"));
}

TEST(KinetoMessages, MessagesOfNoJobStayOnTheirThread) {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 500})
      .annotation("PP:1F3", {.begin = 20, .length = 980})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .receive({.posted = 2000, .end = 2500})
      .annotation("PP:1F4", {.begin = 3000, .length = 100})
      .operation("aten::mm", {.begin = 3000, .length = 100});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_forward 1/3 of job 0: 2 to 500"));
  int left = 0;
  for (const Event& event : r.events(0, "thread 1")) {
    left += r.timeline.strings[event.name] == "gloo:recv" ? 1 : 0;
  }
  EXPECT_EQ(left, 1);
}

TEST(KinetoMessages, MessagesThatWouldCrossTheFirstStagesEdgeStayOnTheirThread) {
  KinetoText trace;
  trace
      .receive({.posted = 2, .end = 500})  // torch connects the ranks
      .annotation("PP:0F0", {.begin = 600, .length = 100})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .send({.posted = 710, .end = 1500})
      .receive({.posted = 720, .end = 1505})
      .annotation("PP:0B0", {.begin = 1600, .length = 100})
      .operation("aten::mm", {.begin = 1600, .length = 100})
      .send({.posted = 1710, .end = 1800});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), ElementsAre("recv_backward 0/0 of job 1: 720 to 1505"));
  EXPECT_THAT(messages(r, kSendLane), ElementsAre("send_forward 0/0 of job 0: 710 to 1500"));
}

TEST(KinetoMessages, ReceiveOfTheSetUpIsNotThatOfAJobThatWaitsForItsOwn) {
  KinetoText trace;
  trace.receive({.posted = 2, .end = 500});  // torch connects the ranks
  for (const std::int64_t begin : {1000, 2000}) {
    trace.annotation("Forward " + std::to_string(begin / 1000), {.begin = begin, .length = 900})
        .receive({.posted = begin + 10, .end = begin + 300})
        .operation("aten::mm", {.begin = begin + 400, .length = 100});
  }
  EXPECT_THAT(messages(readKineto(trace), kRecvLane),
              ElementsAre("recv_forward -1/1 of job 0: 1010 to 1300",
                          "recv_forward -1/2 of job 1: 2010 to 2300"));
}

TEST(KinetoMessages, ReceiveOfTheSetUpIsNotThatOfJobsWhichDoNotReceive) {
  KinetoText trace;
  trace.receive({.posted = 2, .end = 500});
  for (const std::int64_t begin : {1000, 2000, 3000, 4000}) {
    trace.annotation("Forward " + std::to_string(begin / 1000), {.begin = begin, .length = 500})
        .operation("aten::mm", {.begin = begin + 100, .length = 100})
        .send({.posted = begin + 600, .end = begin + 700});
  }
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(messages(r, kRecvLane), IsEmpty());
  EXPECT_THAT(messages(r, kSendLane), testing::SizeIs(4));
}

TEST(KinetoMessages, TraceWithADeviceHasNoSuchLanes) {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 15, .backend = "nccl"})
      .annotation("PP:1F3", {.begin = 20, .length = 100})
      .launch(1, {.begin = 30, .length = 2})
      .kernel(1, {.begin = 200, .length = 10});
  EXPECT_THAT(readKineto(trace).events(0, kRecvLane), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
