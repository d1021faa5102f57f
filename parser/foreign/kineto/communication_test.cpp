// Kernels of NCCL in Kineto traces become sends, receives and collectives.
#include <gmock/gmock.h>

#include <string>
#include <tuple>
#include <vector>

#include "parser/testing/read_chrome.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using test::KinetoText;
using test::kinetoTimes;
using test::readKineto;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSendRecv = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

/// A rank with one forward, so that launches are read.
KinetoText rank1() {
  KinetoText trace;
  trace.rank(1, 4)
      .annotation("PP:1F3", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .kernel(1, {.begin = 100, .length = 10});
  return trace;
}

std::int64_t bytesOf(const test::Reading& r, const Event& event) {
  for (const Argument& argument : r.timeline.argumentsOf(event)) {
    if (r.timeline.strings[argument.key] == "bytes") return argument.integer;
  }
  return -1;
}

TEST(KinetoCommunication, CallAroundTheLaunchOfAKernelGivesItsPeerAndBytes) {
  KinetoText trace = rank1();
  trace
      .operation("record_param_comms", {.begin = 40, .length = 10},
                 R"(,"Collective name":"send","dtype":"BFloat16","In msg nelems":1024,)"
                 R"("Out msg nelems":1024,"Src Rank":1,"Dst Rank":2)")
      .launch(2, {.begin = 42, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  const auto& sends = r.events(1, kSendLane);
  ASSERT_THAT(sends, SizeIs(1));
  EXPECT_EQ(sends[0].peer, 2);
  EXPECT_EQ(bytesOf(r, sends[0]), 2048);
  EXPECT_THAT(r.events(1, "stream 20"), IsEmpty());
}

TEST(KinetoCommunication, ArgumentsOfTheKernelItselfCountAsThoseOfItsCall) {
  KinetoText trace = rank1();
  trace.kernel(9, {.stream = 20, .begin = 120, .length = 30}, kSendRecv,
               R"(,"Collective name":"recv","dtype":"Float","In msg nelems":8,)"
               R"("Out msg nelems":8,"Src Rank":0,"Dst Rank":1)");
  const test::Reading r = readKineto(trace);
  const auto& recvs = r.events(1, kRecvLane);
  ASSERT_THAT(recvs, SizeIs(1));
  EXPECT_EQ(recvs[0].peer, 0);
  EXPECT_EQ(bytesOf(r, recvs[0]), 32);
}

/// Rank 1 sends forward 3 from 120 to 150, and receives its gradient from 160 to 190, on one
/// stream.
KinetoText sendAndReceive() {
  KinetoText trace = rank1();
  trace.annotation("PP:1SEND_F3", {.begin = 40, .length = 20})
      .annotation("nccl:send 1->2", {.begin = 45, .length = 10})
      .launch(2, {.begin = 47, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv)
      .annotation("PP:1RECV_B3", {.begin = 70, .length = 20})
      .annotation("nccl:recv 1<-2", {.begin = 75, .length = 10})
      .launch(3, {.begin = 77, .length = 2})
      .kernel(3, {.stream = 20, .begin = 160, .length = 30}, kSendRecv);
  return trace;
}

TEST(KinetoCommunication, AnnotationOfThePipelineGivesDirectionStageAndMicroBatch) {
  const KinetoText trace = sendAndReceive();
  const test::Reading r = readKineto(trace);
  const auto& sends = r.events(1, kSendLane);
  ASSERT_THAT(sends, SizeIs(1));
  EXPECT_EQ(sends[0].kind, JobKind::kSendForward);
  EXPECT_EQ(sends[0].microBatch, 3);
  EXPECT_EQ(sends[0].stage, 1);
  EXPECT_EQ(sends[0].peer, 2);
  const auto& recvs = r.events(1, kRecvLane);
  ASSERT_THAT(recvs, SizeIs(1));
  EXPECT_EQ(recvs[0].kind, JobKind::kRecvBackward);
  EXPECT_EQ(recvs[0].peer, 2);
}

TEST(KinetoCommunication, AMessageThatIsPostedAfterTheEndOfTheOneBeforeSaysHowLongAfter) {
  KinetoText trace = sendAndReceive();
  trace.annotation("PP:1RECV_B4", {.begin = 190, .length = 20})
      .annotation("nccl:recv 1<-2", {.begin = 192, .length = 10})
      .launch(4, {.begin = 195, .length = 2})
      .kernel(4, {.stream = 20, .begin = 200, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  const auto delayOf = [&](const Event& message) -> std::int64_t {
    for (const Argument& each : r.timeline.argumentsOf(message)) {
      if (r.timeline.strings[each.key] == message_arguments::kPostDelay) return each.integer;
    }
    return -1;
  };
  EXPECT_EQ(delayOf(r.events(1, kSendLane).at(0)), -1) << "the first of its stream";
  EXPECT_EQ(delayOf(r.events(1, kRecvLane).at(0)), -1) << "posted at 77, before 150";
  EXPECT_EQ(delayOf(r.events(1, kRecvLane).at(1)), 5 * kNsPerUs) << "posted at 195, after 190";
}

TEST(KinetoCommunication, SendIsOfTheJobBeforeItAndReceiveOfTheNext) {
  KinetoText trace = rank1();  // forward 3 until 30
  trace.annotation("nccl:send 1->2", {.begin = 40, .length = 10})
      .launch(2, {.begin = 42, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv)
      .annotation("nccl:recv 1<-2", {.begin = 60, .length = 10})
      .launch(3, {.begin = 62, .length = 2})
      .kernel(3, {.stream = 20, .begin = 160, .length = 30}, kSendRecv)
      .annotation("PP:1B2", {.begin = 80, .length = 20})
      .launch(4, {.begin = 82, .length = 2})
      .kernel(4, {.begin = 200, .length = 10});
  const test::Reading r = readKineto(trace);
  const Event& sent = r.events(1, kSendLane).at(0);
  EXPECT_EQ(sent.kind, JobKind::kSendForward);
  EXPECT_EQ(sent.microBatch, 3);
  EXPECT_EQ(sent.stage, 1);
  EXPECT_EQ(sent.job, r.events(1, kComputeLane).at(0).job);
  const Event& received = r.events(1, kRecvLane).at(0);
  EXPECT_EQ(received.kind, JobKind::kRecvBackward);
  EXPECT_EQ(received.microBatch, 2);
  EXPECT_EQ(received.job, r.events(1, kComputeLane).at(1).job);
}

TEST(KinetoCommunication, MessageInsideAJobIsOfThatJob) {
  KinetoText trace;
  trace.rank(1, 4)
      .annotation("Forward 3", {.begin = 10, .length = 50})
      .annotation("nccl:recv 1<-0", {.begin = 12, .length = 10})
      .launch(2, {.begin = 14, .length = 2})
      .kernel(2, {.stream = 20, .begin = 100, .length = 30}, kSendRecv)
      .launch(1, {.begin = 31, .length = 2})
      .kernel(1, {.begin = 140, .length = 10});
  const test::Reading r = readKineto(trace);
  const Event& received = r.events(1, kRecvLane).at(0);
  EXPECT_EQ(received.kind, JobKind::kRecvForward);
  EXPECT_EQ(received.microBatch, 3);
  EXPECT_THAT(kinetoTimes(r.events(1, kComputeLane).at(0)), "140 to 150");
}

TEST(KinetoCommunication, MessageWithoutAJobNextToItIsOfNoKindOfMessage) {
  KinetoText trace = rank1();
  trace
      .annotation("nccl:recv 1<-2", {.begin = 60, .length = 10})  // the last job is over
      .launch(3, {.begin = 62, .length = 2})
      .kernel(3, {.stream = 20, .begin = 160, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  EXPECT_EQ(r.events(1, kRecvLane).at(0).kind, JobKind::kKernel);
  EXPECT_EQ(r.events(1, kRecvLane).at(0).peer, 2);
}

TEST(KinetoCommunication, CollectivesLeaveAStreamThatComputesAndStayOnTheirOwn) {
  KinetoText trace = rank1();
  trace.kernel(5, {.begin = 200, .length = 10}, "ncclDevKernel_AllReduce_Sum_f32")
      .kernel(6, {.stream = 20, .begin = 220, .length = 10}, "ncclDevKernel_AllGather_RING");
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, "nccl"), SizeIs(1));
  EXPECT_EQ(r.events(1, "nccl")[0].kind, JobKind::kAllReduce);
  EXPECT_THAT(r.events(1, "stream 7"), SizeIs(1));
  ASSERT_THAT(r.events(1, "stream 20"), SizeIs(1));
  EXPECT_EQ(r.events(1, "stream 20")[0].kind, JobKind::kAllGather);
}

/// The arguments of a call for one message, as PyTorch writes them.
std::string call(const std::string& what, int peer, const std::string& group = "[1, 2]") {
  return R"(,"Collective name":")" + what + R"(","dtype":"Float","In msg nelems":256,)" +
         R"("Out msg nelems":256,"Process Group Ranks":")" + group + R"(",")" +
         (what == "send" ? "Dst" : "Src") + R"( Rank":)" + std::to_string(peer);
}

TEST(KinetoCommunication, KernelThatSendsAndReceivesWithoutCallsHasNoDirection) {
  KinetoText trace = rank1();
  trace.annotation("nccl:coalesced", {.begin = 40, .length = 20})
      .launch(2, {.begin = 45, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(r.events(1, kSendLane), IsEmpty());
  EXPECT_THAT(r.events(1, kRecvLane), IsEmpty());
  EXPECT_THAT(r.events(1, "stream 20"), SizeIs(1));
}

/// 1F1B's steady state: sends the output of forward 3, receives the gradient of backward 2.
TEST(KinetoCommunication, KernelOfAGroupIsItsSendAndItsReceive) {
  KinetoText trace = rank1();  // forward 3 until 30
  trace.operation("record_param_comms", {.begin = 40, .length = 4}, call("send", 2))
      .annotation("nccl:send 0->1", {.begin = 41, .length = 2})
      .operation("record_param_comms", {.begin = 45, .length = 4}, call("recv", 2))
      .annotation("nccl:coalesced", {.begin = 50, .length = 10})
      .launch(2, {.begin = 52, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv)
      .annotation("PP:1B2", {.begin = 80, .length = 20})
      .launch(4, {.begin = 82, .length = 2})
      .kernel(4, {.begin = 200, .length = 10});
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, kSendLane), SizeIs(1));
  const Event& sent = r.events(1, kSendLane)[0];
  EXPECT_THAT(kinetoTimes(sent), "120 to 150");
  EXPECT_EQ(sent.kind, JobKind::kSendForward);
  EXPECT_EQ(sent.microBatch, 3);
  EXPECT_EQ(sent.peer, 2);
  EXPECT_EQ(bytesOf(r, sent), 1024);
  ASSERT_THAT(r.events(1, kRecvLane), SizeIs(1));
  const Event& received = r.events(1, kRecvLane)[0];
  EXPECT_THAT(kinetoTimes(received), "120 to 150");
  EXPECT_EQ(received.kind, JobKind::kRecvBackward);
  EXPECT_EQ(received.microBatch, 2);
  EXPECT_EQ(received.peer, 2);
  EXPECT_THAT(r.events(1, "stream 20"), IsEmpty());
}

TEST(KinetoCommunication, MessagesOfAGroupToOnePeerAreOneOfTheirBytes) {
  KinetoText trace = rank1();
  trace.operation("record_param_comms", {.begin = 40, .length = 4}, call("send", 2))
      .operation("record_param_comms", {.begin = 45, .length = 4}, call("send", 2))
      .launch(2, {.begin = 52, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, kSendLane), SizeIs(1));
  EXPECT_EQ(bytesOf(r, r.events(1, kSendLane)[0]), 2048);
}

TEST(KinetoCommunication, CallsBeforeAnEarlierLaunchAreNotOfTheGroup) {
  KinetoText trace = rank1();
  trace.operation("record_param_comms", {.begin = 40, .length = 4}, call("send", 2))
      .launch(2, {.begin = 46, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv)
      .operation("record_param_comms", {.begin = 50, .length = 4}, call("recv", 2))
      .launch(3, {.begin = 56, .length = 2})
      .kernel(3, {.stream = 20, .begin = 160, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, kSendLane), SizeIs(1));
  EXPECT_THAT(kinetoTimes(r.events(1, kSendLane)[0]), "120 to 150");
  ASSERT_THAT(r.events(1, kRecvLane), SizeIs(1));
  EXPECT_THAT(kinetoTimes(r.events(1, kRecvLane)[0]), "160 to 190");
}

/// Megatron's interleaved schedule after a forward and a backward: four messages in a group.
TEST(KinetoCommunication, NextRankOfTheGroupGetsForwardsAndThePreviousOneBackwards) {
  const std::string group = "[0, 1, 2, 3]";
  KinetoText trace = rank1();  // forward 3 until 30
  trace.annotation("PP:1B0", {.begin = 32, .length = 6})
      .launch(5, {.begin = 33, .length = 2})
      .kernel(5, {.begin = 112, .length = 6})
      .operation("record_param_comms", {.begin = 40, .length = 4}, call("send", 0, group))
      .operation("record_param_comms", {.begin = 45, .length = 4}, call("recv", 0, group))
      .operation("record_param_comms", {.begin = 50, .length = 4}, call("send", 2, group))
      .operation("record_param_comms", {.begin = 55, .length = 4}, call("recv", 2, group))
      .launch(2, {.begin = 62, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv)
      .annotation("PP:1F4", {.begin = 80, .length = 10})
      .launch(6, {.begin = 82, .length = 2})
      .kernel(6, {.begin = 200, .length = 10})
      .annotation("PP:1B1", {.begin = 95, .length = 10})
      .launch(7, {.begin = 96, .length = 2})
      .kernel(7, {.begin = 220, .length = 10});
  const test::Reading r = readKineto(trace);
  const auto describe = [](const std::vector<Event>& events) {
    std::vector<std::tuple<int, JobKind, int>> all;
    for (const Event& event : events) all.emplace_back(event.peer, event.kind, event.microBatch);
    return all;
  };
  using testing::UnorderedElementsAre;
  EXPECT_THAT(describe(r.events(1, kSendLane)),
              UnorderedElementsAre(std::tuple{0, JobKind::kSendBackward, 0},
                                   std::tuple{2, JobKind::kSendForward, 3}));
  EXPECT_THAT(describe(r.events(1, kRecvLane)),
              UnorderedElementsAre(std::tuple{0, JobKind::kRecvForward, 4},
                                   std::tuple{2, JobKind::kRecvBackward, 1}));
}

TEST(KinetoCommunication, PlaceInASubgroupIsNoRank) {
  KinetoText trace = rank1();
  trace
      .operation("record_param_comms", {.begin = 40, .length = 10},
                 R"(,"Collective name":"send","Process Group Ranks":"[1, 5, 9]")")
      .annotation("nccl:send 0->2", {.begin = 41, .length = 8})
      .launch(2, {.begin = 42, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, kSendLane), SizeIs(1));
  EXPECT_EQ(r.events(1, kSendLane)[0].peer, 9);
}

/// The groups of the only rank, such as "pipeline 0 2".
std::vector<std::string> groupsOf(const test::Reading& r) {
  std::vector<std::string> list;
  for (const CommunicationGroup& group : r.timeline.ranks.begin()->second.groups) {
    constexpr const char* kAxes[] = {"unknown", "pipeline", "tensor", "context",
                                     "expert",  "data",     "other"};
    std::string text = kAxes[static_cast<std::size_t>(group.axis)];
    for (const int rank : group.ranks) text += " " + std::to_string(rank);
    list.push_back(text + (group.reducesInForwards ? " reduces" : ""));
  }
  return list;
}

std::string configOf(const std::string& name, const std::string& purpose,
                     const std::string& ranks) {
  return R"({"pg_name":")" + name + R"(","pg_desc":")" + purpose + R"(","pg_size":2,"ranks":[)" +
         ranks + "]}";
}

TEST(KinetoGroups, AreThoseOfTheFileByTheirRanksWithTheAxisThatANameSays) {
  KinetoText trace = rank1();
  trace.rank(1, 4,
             R"({"pg_name":"0","pg_desc":"default_pg","pg_size":4,"ranks":[]},)" +
                 configOf("1", "mesh_pp", "1, 3") + "," + configOf("2", "mesh_tp", "0, 1") + "," +
                 configOf("3", "mesh_loss_mesh", "0, 1") + "," +
                 configOf("4", "TENSOR_AND_DATA_PARALLEL_GROUP", "1, 2") + "," +
                 configOf("5", "mesh_dim_0", "0, 2, 1"));
  EXPECT_THAT(groupsOf(readKineto(trace)),
              testing::ElementsAre("unknown 0 1 2 3", "pipeline 1 3", "tensor 0 1", "other 1 2",
                                   "unknown 0 2 1"))
      << "the list of all ranks may be empty, and one set of ranks is one group";
}

TEST(KinetoGroups, NumberOfAGroupThatIsANameCountsWhereNoPurposeIsGiven) {
  KinetoText trace = rank1();
  trace.rank(1, 4, R"({"pg_name":"pp","ranks":[1,3]},{"pg_name":"7","ranks":[0,1]})");
  EXPECT_THAT(groupsOf(readKineto(trace)), testing::ElementsAre("pipeline 1 3", "unknown 0 1"));
}

TEST(KinetoGroups, CallsNameThemAndShowWhatTheyAreUsedFor) {
  KinetoText trace = rank1();  // a forward from 10 to 30
  const auto call = [](const std::string& what, const std::string& ranks) {
    return R"(,"Collective name":")" + what + R"(","Process Group Name":"7",)" +
           R"("Process Group Description":"undefined","Process Group Ranks":")" + ranks + "\"";
  };
  trace.operation("record_param_comms", {.begin = 12, .length = 2}, call("allreduce", "[0, 1]"))
      .operation("record_param_comms", {.begin = 40, .length = 2}, call("allreduce", "[1, 3]"));
  EXPECT_THAT(groupsOf(readKineto(trace)),
              testing::ElementsAre("unknown 0 1 reduces", "unknown 1 3"));
}

/// A send in the middle of forward 3, in a group of that name and purpose.
KinetoText sendInForward(const std::string& purpose) {
  KinetoText trace = rank1();
  const std::string group = R"(,"Process Group Description":")" + purpose +
                            R"(","Process Group Ranks":"[0, 1]","dtype":"Float")";
  trace
      .operation("record_param_comms", {.begin = 14, .length = 10},
                 R"(,"Collective name":"send","Src Rank":1,"Dst Rank":0)" + group)
      .launch(2, {.begin = 16, .length = 2})
      .kernel(2, {.stream = 20, .begin = 104, .length = 3}, kSendRecv);
  return trace;
}

TEST(KinetoGroups, SendsBetweenRanksOfASequenceAreNoMessagesOfThePipeline) {
  EXPECT_THAT(readKineto(sendInForward("mesh_cp")).events(1, kSendLane), IsEmpty());
  EXPECT_THAT(readKineto(sendInForward("mesh_pp")).events(1, kSendLane), SizeIs(1));
  KinetoText trace = sendInForward("undefined");
  EXPECT_THAT(readKineto(trace).events(1, kSendLane), SizeIs(1)) << "nothing says otherwise";
  trace
      .operation("record_param_comms", {.begin = 40, .length = 10},
                 R"(,"Collective name":"send","Src Rank":1,"Dst Rank":3,)"
                 R"("Process Group Description":"undefined","Process Group Ranks":"[1, 3]")")
      .launch(3, {.begin = 42, .length = 2})
      .kernel(3, {.stream = 20, .begin = 120, .length = 5}, kSendRecv);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, kSendLane), SizeIs(1)) << "another group sends between jobs";
  EXPECT_EQ(r.events(1, kSendLane)[0].peer, 3);
}

TEST(KinetoGroups, APeerInAGroupWhoseListIsCutIsFoundInTheFilesOwnList) {
  KinetoText trace = rank1();
  trace.rank(1, 40, configOf("9", "mesh_pp", "5, 6, 7, 8"));
  trace
      .operation("record_param_comms", {.begin = 40, .length = 14},
                 R"(,"Process Group Name":"9","Process Group Ranks":"[5, 6, ...]")")
      .annotation("nccl:send 1->3", {.begin = 45, .length = 8})
      .launch(2, {.begin = 47, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 30}, kSendRecv);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, kSendLane), SizeIs(1));
  EXPECT_EQ(r.events(1, kSendLane)[0].peer, 8);
}

/// "0 1; tensor-parallel; 12": the ranks, the use and the number; "-" for what is not there.
std::string groupOf(const test::Reading& r, const Event& event) {
  std::string ranks = "-";
  std::string use = "-";
  std::string sequence = "-";
  for (const Argument& each : r.timeline.argumentsOf(event)) {
    const std::string_view key = r.timeline.strings[each.key];
    if (key == collective_arguments::kGroup) ranks = r.timeline.strings[each.text];
    if (key == collective_arguments::kUse) use = r.timeline.strings[each.text];
    if (key == collective_arguments::kSequence) sequence = std::to_string(each.integer);
  }
  return ranks + "; " + use + "; " + sequence;
}

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// A rank whose forward 3 starts a collective with these arguments.
KinetoText forwardWith(const std::string& arguments, const std::string& kernel = kAllReduce) {
  KinetoText trace = rank1();
  trace.launch(2, {.begin = 14, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 5}, kernel, arguments);
  return trace;
}

std::string groupInForward(const std::string& arguments) {
  const test::Reading r = readKineto(forwardWith(arguments));
  return groupOf(r, r.events(1, "stream 20").at(0));
}

constexpr const char* kRanks = R"(,"Process Group Ranks":"[1, 3]")";

TEST(KinetoGroupsOfCollectives, ACollectiveThatAJobStartedNamesItsRanksTheirUseAndItsNumber) {
  EXPECT_EQ(groupInForward(std::string(kRanks) +
                           R"(,"Process Group Name":"7","Process Group Description":"mesh_tp",)"
                           R"("Seq":12)"),
            "1 3; tensor-parallel; 12");
  EXPECT_EQ(groupInForward(kRanks), "1 3; -; -");
}

TEST(KinetoGroupsOfCollectives, WhereThePurposeNamesNoAxisTheUseIsThePurposeElseTheNameOfTheGroup) {
  const std::string ranks = kRanks;
  EXPECT_EQ(groupInForward(ranks + R"(,"Process Group Name":"7")"), "1 3; 7; -");
  EXPECT_EQ(groupInForward(ranks + R"(,"Process Group Name":"dp")"), "1 3; data-parallel; -");
  EXPECT_EQ(groupInForward(
                ranks + R"(,"Process Group Name":"dp","Process Group Description":"mesh_world")"),
            "1 3; mesh_world; -");
}

TEST(KinetoGroupsOfCollectives, RanksWithTheSameWeightsAreReplicasThoughTheyShareSequencesToo) {
  const std::string ranks = kRanks;
  const auto useOf = [&](const std::string& purpose) {
    return groupInForward(ranks + R"(,"Process Group Description":")" + purpose + "\"");
  };
  for (const char* const same : {"mesh_dp_shard_cp", "mesh_efsdp", "DATA_PARALLEL_GROUP_WITH_CP",
                                 "EXPERT_DATA_PARALLEL_GROUP"}) {
    EXPECT_EQ(useOf(same), "1 3; data-parallel; -") << same;
  }
  for (const std::string other : {"mesh_tp_cp", "TENSOR_AND_DATA_PARALLEL_GROUP"}) {
    EXPECT_EQ(useOf(other), "1 3; " + other + "; -");
  }
}

TEST(KinetoGroupsOfCollectives, TheCallAroundTheLaunchNamesTheRanksToo) {
  KinetoText trace = rank1();
  trace
      .operation("record_param_comms", {.begin = 13, .length = 5},
                 R"(,"Collective name":"allreduce","Seq":4)" + std::string(kRanks))
      .launch(2, {.begin = 14, .length = 2})
      .kernel(2, {.stream = 20, .begin = 120, .length = 5}, kAllReduce);
  const test::Reading r = readKineto(trace);
  EXPECT_EQ(groupOf(r, r.events(1, "stream 20").at(0)), "1 3; -; 4");
}

std::string argumentOf(const test::Reading& r, const Event& event, std::string_view key) {
  std::string text;
  for (const Argument& each : r.timeline.argumentsOf(event)) {
    if (r.timeline.strings[each.key] == key) text = r.timeline.strings[each.text];
  }
  return text;
}

/// "0 1 2 3; context-parallel; 3; 0 2": as groupOf(), and those of the ranks that it exchanges data
/// with.
std::string partnersOf(const test::Reading& r, const Event& event) {
  const std::string partners = argumentOf(r, event, collective_arguments::kPartners);
  return groupOf(r, event) + "; " + (partners.empty() ? "all" : partners);
}

constexpr const char* kContextGroup =
    R"(,"Process Group Ranks":"[0, 1, 2, 3]","Process Group Description":"mesh_cp","dtype":"Half")";

TEST(KinetoGroupsOfCollectives, AnAllToAllThatSendsNothingToAMemberDoesNotWaitForIt) {
  const auto with = [](const std::string& in, const std::string& out) {
    const test::Reading r =
        readKineto(forwardWith(R"(,"Collective name":"all_to_allv","Seq":3,"In split size":")" +
                                   in + R"(","Out split size":")" + out + "\"" + kContextGroup,
                               kSendRecv));
    const Event& exchange = r.events(1, "stream 20").at(0);
    EXPECT_EQ(exchange.kind, JobKind::kAllToAll);
    return partnersOf(r, exchange);
  };
  EXPECT_EQ(with("[0, 0, 8, 0]", "[8, 0, 0, 0]"), "0 1 2 3; context-parallel; 3; 0 2");
  EXPECT_EQ(with("[4, 4, 4, 4]", "[4, 0, 0, 0]"), "0 1 2 3; context-parallel; 3; all");
  EXPECT_EQ(with("[]", "[]"), "0 1 2 3; context-parallel; 3; all") << "of one size each";
  EXPECT_EQ(with("[0, 0, ...]", "[8, 0, ...]"), "0 1 2 3; context-parallel; 3; all") << "cut";
  EXPECT_EQ(with("[0, 4, 0, 0]", "[0, 4, 0, 0]"), "-; -; -; all") << "it meets nobody";
}

TEST(KinetoGroupsOfCollectives, AGroupOfMessagesAroundARingIsAnExchangeWithBothNeighbours) {
  KinetoText trace = rank1();
  const std::string group = kContextGroup;
  trace
      .operation(
          "record_param_comms", {.begin = 12, .length = 1},
          R"(,"Collective name":"send","In msg nelems":64,"Src Rank":1,"Dst Rank":2)" + group)
      .operation(
          "record_param_comms", {.begin = 14, .length = 1},
          R"(,"Collective name":"recv","In msg nelems":64,"Src Rank":0,"Dst Rank":1)" + group)
      .launch(2, {.begin = 16, .length = 2})
      .kernel(2, {.stream = 20, .begin = 104, .length = 3}, kSendRecv);
  const test::Reading r = readKineto(trace);
  const Event& exchange = r.events(1, "stream 20").at(0);
  EXPECT_EQ(exchange.kind, JobKind::kAllToAll);
  EXPECT_EQ(partnersOf(r, exchange), "0 1 2 3; context-parallel; -; 0 2");
  EXPECT_EQ(bytesOf(r, exchange), 256);
  EXPECT_THAT(r.events(1, kSendLane), IsEmpty());
}

TEST(KinetoGroupsOfCollectives, ASendAndAReceiveInsideAJobMeetOnePeerEach) {
  KinetoText trace = rank1();
  const auto message = [&](int id, const std::string& what, const std::string& ends) {
    trace.launch(id, {.begin = 12 + 2 * id, .length = 1})
        .kernel(id, {.stream = 20 + id, .begin = 104, .length = 3}, kSendRecv,
                R"(,"Collective name":")" + what + "\"" + ends + kContextGroup);
  };
  message(2, "send", R"(,"Src Rank":1,"Dst Rank":0)");
  message(3, "recv", R"(,"Src Rank":0,"Dst Rank":1)");
  const test::Reading r = readKineto(trace);
  const auto argumentsOf = [&](const Event& event) {
    return partnersOf(r, event) + "; " + argumentOf(r, event, collective_arguments::kMessage);
  };
  EXPECT_EQ(argumentsOf(r.events(1, "stream 22").at(0)), "0 1 2 3; context-parallel; -; 0; 1 0");
  EXPECT_EQ(argumentsOf(r.events(1, "stream 23").at(0)), "0 1 2 3; context-parallel; -; 0; 0 1");
}

TEST(KinetoGroupsOfCollectives, ALongListOfRanksIsThatOfTheFile) {
  KinetoText trace =
      forwardWith(R"(,"Process Group Name":"9","Process Group Ranks":"[1, 2, ..., 5]")");
  trace.rank(1, 8, configOf("9", "mesh_ep", "1, 2, 3, 4, 5"));
  const test::Reading r = readKineto(trace);
  EXPECT_EQ(groupOf(r, r.events(1, "stream 20").at(0)), "1 2 3 4 5; 9; -");
}

TEST(KinetoGroupsOfCollectives, NobodyMeetsInAGroupOfOneOrInOneWithoutAList) {
  EXPECT_EQ(groupInForward(R"(,"Process Group Ranks":"[1]","Process Group Name":"tp","Seq":1)"),
            "-; -; -");
  EXPECT_EQ(groupInForward(R"(,"Process Group Name":"tp","Seq":1)"), "-; -; -");
}

TEST(KinetoGroupsOfCollectives, ThoseOfNoComputeJobNameTheirMembersAlone) {
  KinetoText trace = rank1();
  trace
      .launch(2, {.begin = 32, .length = 2})  // of no job
      .kernel(2, {.stream = 20, .begin = 120, .length = 5}, kAllReduce, kRanks)
      .annotation("optimizer", {.begin = 40, .length = 20})
      .launch(3, {.begin = 42, .length = 2})
      .kernel(3, {.begin = 140, .length = 5})
      .launch(4, {.begin = 45, .length = 2})
      .kernel(4, {.stream = 20, .begin = 150, .length = 5}, kAllReduce, kRanks);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, "stream 20"), SizeIs(2));
  EXPECT_EQ(r.events(1, "stream 20")[1].job, r.events(1, kComputeLane).at(1).job);
  for (const Event& each : r.events(1, "stream 20")) {
    EXPECT_EQ(groupOf(r, each), "-; -; -");
    EXPECT_EQ(argumentOf(r, each, "members"), "1 3") << "as in job logs: between jobs";
  }
}

TEST(KinetoGroupsOfCollectives, KernelsThatSendToAllRanksAreOfTheKindAllToAll) {
  for (const std::string name : {"all_to_allv", "all_to_all", "alltoall_base"}) {
    const test::Reading r =
        readKineto(forwardWith(R"(,"Collective name":")" + name + "\"" + kRanks, kSendRecv));
    EXPECT_THAT(r.events(1, kSendLane), IsEmpty());
    ASSERT_THAT(r.events(1, "stream 20"), SizeIs(1));
    EXPECT_EQ(r.events(1, "stream 20")[0].kind, JobKind::kAllToAll) << name;
    EXPECT_EQ(groupOf(r, r.events(1, "stream 20")[0]), "1 3; -; -") << name;
  }
  const test::Reading other =
      readKineto(forwardWith(R"(,"Collective name":"scatter")" + std::string(kRanks), kSendRecv));
  EXPECT_EQ(other.events(1, "stream 20").at(0).kind, JobKind::kKernel);
  EXPECT_EQ(groupOf(other, other.events(1, "stream 20")[0]), "-; -; -");
}

TEST(KinetoGroupsOfCollectives, ThoseOnTheStreamThatComputesNameTheirRanksOnTheLaneNccl) {
  KinetoText trace = rank1();
  trace.launch(2, {.begin = 14, .length = 2})
      .kernel(2, {.begin = 120, .length = 5}, kAllReduce, kRanks);
  const test::Reading r = readKineto(trace);
  ASSERT_THAT(r.events(1, "nccl"), SizeIs(1));
  EXPECT_EQ(groupOf(r, r.events(1, "nccl")[0]), "1 3; -; -");
  EXPECT_THAT(kinetoTimes(r.events(1, kComputeLane).at(0)), "100 to 125");
}

TEST(KinetoGroupsOfCollectives, AnArgumentOfAKernelThatIsCalledGroupRanksNamesNone) {
  KinetoText trace = rank1();
  trace.kernel(8, {.stream = 20, .begin = 120, .length = 5}, kAllReduce, R"(,"group_ranks":"1 3")")
      .kernel(9, {.stream = 20, .begin = 140, .length = 5}, kAllReduce, R"(,"group_ranks":5)");
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(r.events(1, "stream 20"), SizeIs(2));
  EXPECT_THAT(kinetoTimes(r.events(1, kComputeLane).at(0)), "100 to 110");
}

}  // namespace
}  // namespace pipetrace
