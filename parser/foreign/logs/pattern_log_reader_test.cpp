#include "parser/foreign/logs/pattern_log_reader.h"

#include <gmock/gmock.h>

#include "parser/foreign/names/given_names.h"
#include "parser/runs/rank_names.h"
#include "parser/testing/reading.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kPattern =
    R"(job (?P<type>\w+)(?: mb=(?P<micro_batch_id>\d+))? (?P<start>\S+)-(?P<end>\S+)(?: on (?P<host>\S+))?)";

test::Reading read(const std::string& pattern, Nanoseconds unit, const std::string& bytes,
                   ReadRequest request = {}, const std::string& name = "any.log") {
  test::Reading result;
  request.nameRank = rankInName(name);
  ByteSource source(name, bytes);
  Diagnostics diagnostics;
  const LinePattern compiled(pattern, unit);
  result.outcome = PatternLogReader(compiled).read(source, request, result.timeline, diagnostics);
  result.timeline.sort();
  for (const Diagnostic& d : diagnostics.list()) result.diagnostics.push_back(toText(d));
  return result;
}

std::string errorOf(const std::string& pattern) {
  try {
    const LinePattern compiled(pattern, kNsPerMs);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(PatternLogReaderTest, LinesThatMatchAreJobsToTheNanosecond) {
  const auto r =
      read(kPattern, kNsPerMs,
           "starting\n[x] job forward mb=3 1697793307213.760986-1697793307254.006104 on a7\r\n"
           "loss 3\njob embed 5-6.5\n",
           {.rank = 2});
  EXPECT_EQ(r.outcome.events, 2);
  const auto& jobs = r.events(2, "compute");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(r.timeline.strings[jobs[0].name], "embed");
  EXPECT_EQ(jobs[0].duration(), 1'500'000);
  EXPECT_EQ(jobs[1].kind, JobKind::kForward);
  EXPECT_EQ(jobs[1].microBatch, 3);
  EXPECT_EQ(jobs[1].begin, 1'697'793'307'213'760'986);
  EXPECT_EQ(jobs[1].end, 1'697'793'307'254'006'104);
  ASSERT_THAT(r.timeline.argumentsOf(jobs[1]), SizeIs(1));
  EXPECT_EQ(r.timeline.strings[r.timeline.argumentsOf(jobs[1])[0].text], "a7");
  EXPECT_THAT(r.diagnostics, ElementsAre("any.log: note: 2 of its 4 lines match --pattern"));
}

TEST(PatternLogReaderTest, AllFieldsOfAJobCanBeGroups) {
  const auto r =
      read(R"(r(?P<rank>\d+) (?P<type>\S+) s(?P<step>\d+) st(?P<stage>\d+) )"
           R"(c(?P<chunk>\d+) p(?P<part>\d+) id(?P<id>\d+) t(?P<start>\d+)\+(?P<duration>\d+) )"
           R"(peer(?P<peer>\d+) (?P<name>\w+) (?P<stream>\w+) (?P<bytes>\d+))",
           1, "r4 send_forward s7 st1 c2 p3 id9 t100+25 peer5 push nic 4096\n");
  ASSERT_THAT(r.events(4, "nic"), SizeIs(1));
  const Event& e = r.events(4, "nic")[0];
  EXPECT_EQ(e.kind, JobKind::kSendForward);
  EXPECT_EQ(e.step, 7);
  EXPECT_EQ(e.stage, 1);
  EXPECT_EQ(e.chunk, 2);
  EXPECT_EQ(e.part, 3);
  EXPECT_EQ(e.job, 9);
  EXPECT_EQ(e.peer, 5);
  EXPECT_EQ(e.begin, 100);
  EXPECT_EQ(e.end, 125);
  EXPECT_EQ(r.timeline.strings[e.name], "push");
  EXPECT_EQ(r.timeline.argumentsOf(e)[0].integer, 4096);
}

TEST(PatternLogReaderTest, TimesAreReadInTheRequestedUnit) {
  for (const auto& [unit, ns] : {std::pair{Nanoseconds{1}, Nanoseconds{1}},
                                 {kNsPerUs, 1250},
                                 {kNsPerMs, 1'250'000},
                                 {kNsPerSecond, 1'250'000'000}}) {
    const auto r = read(kPattern, unit, "job backward 0-1.25\n");
    EXPECT_EQ(r.events(0, "compute").at(0).end, ns);
  }
}

TEST(PatternLogReaderTest, TimesOfTodayInTooSmallAUnitGiveAHint) {
  const auto reported = [](Nanoseconds unit, const std::string& line) {
    return testing::PrintToString(read(kPattern, unit, "job forward " + line + "\n").diagnostics);
  };
  EXPECT_THAT(reported(kNsPerMs, "1697793307.21-1697793307.25"),
              AllOf(HasSubstr("its times lie in January 1970"), HasSubstr("--time-unit s")));
  EXPECT_THAT(reported(1, "1697793307210-1697793307250"), HasSubstr("--time-unit ms"));
  EXPECT_THAT(reported(kNsPerUs, "1697793307210-1697793307250"), HasSubstr("--time-unit ms"));
  EXPECT_THAT(reported(1, "1697793307210000-1697793307250000"), HasSubstr("--time-unit us"));
  for (const char* line : {"12.5-13.5", "0-86400000", "1697793307210-1697793307250"}) {
    EXPECT_THAT(reported(kNsPerMs, line), Not(HasSubstr("1970"))) << line;
  }
}

TEST(PatternLogReaderTest, LanesOfTransfersAndCollectivesAreThoseOfAJobLog) {
  const auto r =
      read(kPattern, 1, "job send_forward 0-1\njob recv_backward 0-1\njob all_reduce 0-1\n");
  EXPECT_THAT(r.events(0, "send"), SizeIs(1));
  EXPECT_THAT(r.events(0, "recv"), SizeIs(1));
  EXPECT_THAT(r.events(0, "all_reduce"), SizeIs(1));
}

TEST(PatternLogReaderTest, TheFileNameGivesTheRankUnlessAGroupDoes) {
  EXPECT_THAT(read(kPattern, 1, "job lr 0-1\n", {}, "logs/app_rank12.log").events(12, "compute"),
              SizeIs(1));
  EXPECT_THAT(read(kPattern, 1, "job lr 0-1\n", {.nextRank = 3}).events(3, "compute"), SizeIs(1));
}

TEST(PatternLogReaderTest, KindsThatTheUserNamesAreUsed) {
  const KindsFile kinds = KindsFile::parse(R"({"kinds":{"blk":"forward"}})", "k.json");
  EXPECT_EQ(read(kPattern, 1, "job blk 0-1\n", {.kinds = &kinds}).events(0, "compute")[0].kind,
            JobKind::kForward);
}

TEST(PatternLogReaderTest, MatchesThatCannotBeUsedAreCountedAndReported) {
  const auto r = read(kPattern, kNsPerMs,
                      "job lr 0-1\njob forward 1e3-2\njob forward 9-1\n"
                      "job forward mb=99999999999 1-2\njob forward 99999999999999-2\n"
                      "job lr\xff 1-2\njob lr 1-2 on \xff\njob forward 1-2");
  EXPECT_EQ(r.outcome.events, 2);
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("any.log:2: warning: a line matches, but its numbers cannot be "
                                    "used; it was left out (3 times)"),
                          HasSubstr("any.log:3: warning: a job ends before it starts"),
                          HasSubstr("any.log:7: warning: bytes that are no UTF-8 were replaced"),
                          HasSubstr("any.log:8: warning: the last line does not end"),
                          HasSubstr("6 of its 8 lines match")));
}

TEST(PatternLogReaderTest, ALogWithoutAMatchIsReported) {
  EXPECT_EQ(read(kPattern, 1, "a\nb\n").outcome.whyNone, "none of its 2 lines matches --pattern");
  EXPECT_THAT(read(kPattern, 1, "job a 3-1\n").outcome.whyNone,
              HasSubstr("1 of its 1 lines match --pattern, but none"));
}

TEST(PatternLogReaderTest, ALineOfMoreThanAMebibyteIsLeftOut) {
  const auto r = read(kPattern, 1, "job lr 0-1\n" + std::string(3 << 20, 'x') + "\njob lr 2-3\n");
  EXPECT_EQ(r.outcome.events, 2);
  EXPECT_THAT(r.diagnostics, testing::Contains(HasSubstr("any.log:2: warning: a line is longer")));
}

TEST(LinePatternTest, AnUnusablePatternIsAnErrorBeforeAnythingIsRead) {
  EXPECT_THAT(errorOf("(?P<type>"), HasSubstr("no regular expression: missing )"));
  EXPECT_THAT(errorOf("(?P<start>a)(?P<end>b)"), HasSubstr("no group called type; as in"));
  EXPECT_THAT(errorOf("(?P<type>a)(?P<end>b)"), HasSubstr("no group called start"));
  EXPECT_THAT(errorOf("(?P<type>a)(?P<start>b)"), HasSubstr("no group called end or duration"));
  EXPECT_THAT(errorOf("(?P<name>a)(?P<start>b)(?P<dur>c)(?P<duration>d)"),
              HasSubstr("two groups that mean the same"));
  EXPECT_EQ(errorOf("(?P<name>a)(?P<start>b)(?P<dur>c)"), "none");
}

}  // namespace
}  // namespace pipetrace
