#include "parser/foreign/logs/megatron_reader.h"

#include <gmock/gmock.h>

#include "parser/chrome/reader.h"
#include "parser/reader_registry.h"
#include "parser/runs/rank_names.h"
#include "parser/testing/reading.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Result = test::Reading;

Result readMegatron(const std::string& bytes, const ReadRequest& request = {}) {
  return test::readWith<MegatronReader>("app.json", bytes, request);
}

constexpr const char* kTwoIterations = R"([
{"name":"iteration","ph":"B","pad_before":5},
{"name":"forward","ph":"B","rel_ts":10},
{"microbatch":3,"model_chunk":1,"pp_rank":1,"name":"forward","ph":"E","rel_ts":30},
{"name":"iteration","ph":"E","rel_ts":90,"duration_wall":100,"duration_cuda":90},
{"name":"iteration","ph":"B","pad_before":7},
{"name":"send-forward","ph":"B","rel_ts":1},
{"name":"backward","ph":"B","rel_ts":2},
{"name":"send-forward","ph":"E","rel_ts":4},
{"name":"backward","ph":"E","rel_ts":8,"microbatch":0,"pp_rank":1,"model_chunk":0,"note":"x","r":0.5},
{"name":"iteration","ph":"E","rel_ts":20,"duration_wall":25}])";

TEST(MegatronReaderTest, ItsFilesAreDistinguishedFromChromesByTheirTimes) {
  const auto readers = makeTraceReaders();
  EXPECT_EQ(readers.choose(kTwoIterations)->formatName(), "MegatronApp");
  EXPECT_EQ(readers.choose(R"([{"name":"a","ph":"X","ts":1,"args":{"rel_ts":1}}])")->formatName(),
            "Chrome JSON");
  for (const char* text : {"", "[", "{\"rel_ts\":1,\"ph\":1}", "[{\"rel_ts\":1}]"}) {
    EXPECT_EQ(MegatronReader().probe(text), FormatMatch::kNo) << text;
  }
}

TEST(MegatronReaderTest, IterationsFollowEachOtherAndJobsBelongToThem) {
  const Result r = readMegatron(kTwoIterations, {.rank = 6});
  EXPECT_THAT(r.diagnostics, IsEmpty());
  EXPECT_EQ(r.outcome.events, 5);
  const auto& iterations = r.events(6, "iterations");
  ASSERT_THAT(iterations, SizeIs(2));
  EXPECT_EQ(iterations[0].begin, 5);
  EXPECT_EQ(iterations[0].end, 95);
  EXPECT_EQ(iterations[1].begin, 112) << "5 + wall 100 + pad 7";
  const auto& jobs = r.events(6, "compute");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].kind, JobKind::kForward);
  EXPECT_EQ(jobs[0].begin, 15);
  EXPECT_EQ(jobs[0].end, 35);
  EXPECT_EQ(jobs[0].step, 0);
  EXPECT_EQ(jobs[0].microBatch, 3);
  EXPECT_EQ(jobs[0].chunk, 1);
  EXPECT_EQ(jobs[0].stage, 1) << "its position as yet";
  EXPECT_EQ(jobs[1].begin, 114);
  EXPECT_EQ(jobs[1].step, 1);
  EXPECT_THAT(r.timeline.argumentsOf(jobs[1]), SizeIs(2));
  EXPECT_EQ(r.events(6, "send").at(0).duration(), 3);
}

TEST(MegatronReaderTest, IterationsBeginOnAllRanksAtOnce) {
  Result r = readMegatron(kTwoIterations);
  Diagnostics diagnostics;
  ByteSource other("app_rank1.json", R"([
{"name":"iteration","ph":"B","pad_before":1},
{"name":"forward","ph":"B","rel_ts":2},
{"microbatch":0,"model_chunk":0,"pp_rank":0,"name":"forward","ph":"E","rel_ts":3},
{"name":"iteration","ph":"E","rel_ts":90,"duration_wall":300},
{"name":"iteration","ph":"B","pad_before":9},
{"name":"forward","ph":"B","rel_ts":2},
{"microbatch":0,"model_chunk":0,"pp_rank":0,"name":"forward","ph":"E","rel_ts":3},
{"name":"iteration","ph":"E","rel_ts":20,"duration_wall":25}])");
  MegatronReader().read(other, {.nameRank = 1, .nextRank = 4}, r.timeline, diagnostics);
  lineUpMegatronRanks(r.timeline, diagnostics);
  r.timeline.sort();
  const Nanoseconds second = 5 + 300 + 9;
  EXPECT_EQ(r.events(0, "compute")[0].begin, 5 + 10);
  EXPECT_EQ(r.events(0, "compute")[1].begin, second + 2);
  EXPECT_EQ(r.events(1, "compute")[0].begin, 5 + 2);
  EXPECT_EQ(r.events(1, "compute")[1].begin, second + 2);
  EXPECT_EQ(r.events(1, "iterations")[1].begin, second);
  EXPECT_EQ(r.events(0, "compute")[0].stage, 3) << "chunk 1, position 1 of 2";
  EXPECT_EQ(r.timeline.ranks.at(0).numStages, 4);
  EXPECT_EQ(r.timeline.ranks.at(0).numChunks, 2);

  const std::vector<Event> before = r.events(0, "compute");
  lineUpMegatronRanks(r.timeline, diagnostics);
  EXPECT_EQ(r.events(0, "compute")[0].stage, before[0].stage) << "once is enough";
}

TEST(MegatronReaderTest, EntriesThatCannotBeUsedAreReportedWithTheirLine) {
  const Result r = readMegatron(R"([
{"name":"iteration","ph":"E","rel_ts":9},
{"name":"iteration","ph":"B"},
{"name":"forward","ph":"E","rel_ts":9},
{"name":"forward","ph":"B","rel_ts":"9"},
{"name":"forward","ph":"X","rel_ts":9},
{"name":"forward","ph":"B","rel_ts":9},
{"name":"forward","ph":"E","rel_ts":8},
{"name":"forward","ph":"B","rel_ts":9},
{"name":"forward" "ph":"B","rel_ts":9},
{"name":"iteration","ph":"B"},
{"name":"forw)");
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("app.json:2: warning: an iteration ends that has"),
                          HasSubstr("app.json:4: warning: an `E` has no `B`"),
                          HasSubstr("app.json:5: warning: an entry has no time"),
                          HasSubstr("app.json:6: warning: an entry has no name, or no `ph`"),
                          HasSubstr("app.json:8: warning: a job ends before it starts"),
                          HasSubstr("app.json:10: warning: an entry is no valid JSON"),
                          HasSubstr("app.json:11: warning: an iteration begins in"),
                          HasSubstr("an entry does not end"),
                          HasSubstr("app.json:9: warning: a `B` has no `E`"),
                          HasSubstr("the last iteration does not end")));
}

TEST(MegatronReaderTest, TimesAtTheLimitsOfTheirTypeDoNoHarm) {
  Result r = readMegatron(R"([
{"name":"iteration","ph":"B","pad_before":9223372036854775807},
{"name":"forward","ph":"B","rel_ts":9223372036854775807},
{"name":"iteration","ph":"E","rel_ts":9223372036854775807,"duration_wall":9223372036854775807},
{"name":"iteration","ph":"B","pad_before":-9223372036854775808},
{"name":"forward","ph":"B","rel_ts":-9223372036854775808},
{"name":"forward","ph":"E","rel_ts":0,"pp_rank":2147483647},
{"name":"iteration","ph":"E","rel_ts":-1}])");
  Diagnostics diagnostics;
  lineUpMegatronRanks(r.timeline, diagnostics);
  for (const Track& track : r.timeline.tracks) {
    for (const Event& event : track.events) EXPECT_LE(event.begin, event.end);
  }
}

/// An iteration with a forward, as the tracer of a rank at this position writes it.
std::string forwardAt(int position) {
  return R"([
{"name":"iteration","ph":"B","pad_before":5},
{"name":"forward","ph":"B","rel_ts":10},
{"microbatch":0,"model_chunk":0,"pp_rank":)" +
         std::to_string(position) + R"(,"name":"forward","ph":"E","rel_ts":30},
{"name":"iteration","ph":"E","rel_ts":90,"duration_wall":100,"duration_cuda":90}])";
}

/// Reads such files of these positions by their names, and lines them up.
Result readNamed(const std::vector<std::pair<std::string, int>>& files) {
  std::vector<std::string> names;
  for (const auto& [name, position] : files) names.push_back(name);
  const auto ranks = ranksInNames(names);
  Result r;
  Diagnostics diagnostics;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ByteSource source(files[i].first, forwardAt(files[i].second));
    MegatronReader().read(source, {.nameRank = ranks[i]}, r.timeline, diagnostics);
  }
  lineUpMegatronRanks(r.timeline, diagnostics);
  r.timeline.sort();
  for (const Diagnostic& d : diagnostics.list()) r.diagnostics.push_back(toText(d));
  return r;
}

TEST(MegatronReaderTest, NamesOfTheTracersFilesGiveReplicasAndPipelines) {
  const Result r = readNamed({{"benchmark-data-1-pipeline-0-tensor-0.json", 0},
                              {"benchmark-data-0-pipeline-1-tensor-0.json", 1},
                              {"benchmark-data-1-pipeline-2-tensor-0.json", 2}});
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr(
                                 "if ranks came after rank 5, what it waited for from them looks "
                                 "like late starts of its own")));
  ASSERT_THAT(r.timeline.ranks, SizeIs(3));
  EXPECT_EQ(r.timeline.ranks.at(1).dataParallelIndex, 1);
  EXPECT_EQ(r.timeline.ranks.at(2).dataParallelIndex, 0);
  EXPECT_EQ(r.timeline.ranks.at(5).dataParallelIndex, 1);
  EXPECT_EQ(r.timeline.ranks.at(5).pipelineRanks, "1/3/5");
  EXPECT_EQ(r.timeline.ranks.at(2).pipelineRanks, "0/2/4");
  EXPECT_EQ(r.timeline.ranks.at(2).worldSize, 6) << "three files are missing";
  EXPECT_EQ(r.timeline.ranks.at(2).numStages, 3);
  EXPECT_EQ(r.timeline.ranks.at(2).tensorParallelIndex, std::nullopt);
  EXPECT_EQ(r.events(5, "compute").at(0).stage, 2);
}

TEST(MegatronReaderTest, NamesOfTheTracersFilesGiveTensorParallelIndices) {
  const Result r = readNamed({{"benchmark-data-0-pipeline-0-tensor-0.json", 0},
                              {"benchmark-data-0-pipeline-0-tensor-1.json", 0},
                              {"benchmark-data-0-pipeline-1-tensor-0.json", 1},
                              {"benchmark-data-0-pipeline-1-tensor-1.json", 1}});
  EXPECT_THAT(r.diagnostics, IsEmpty());
  EXPECT_EQ(r.timeline.ranks.at(3).tensorParallelIndex, 1);
  EXPECT_EQ(r.timeline.ranks.at(3).dataParallelIndex, 0);
  EXPECT_EQ(r.timeline.ranks.at(3).pipelineRanks, "1/3");
  EXPECT_EQ(r.timeline.ranks.at(0).worldSize, 4);
}

TEST(MegatronReaderTest, FileWhoseNameContradictsItsJobsIsReported) {
  const Result r = readNamed({{"benchmark-data-0-pipeline-0-tensor-0.json", 0},
                              {"benchmark-data-0-pipeline-1-tensor-0.json", 0}});
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("pipeline-1-tensor-0.json:4: warning: a job has another")));
}

/// Iterations of a rank at this position: jobs like "F0", "B0", one after the other, of 10 and 20
/// us each. What waits begins at the time that follows it: "B0@70".
std::string jobsAt(int position, const std::vector<std::string>& jobs, int chunks = 1) {
  std::string text = R"([{"name":"iteration","ph":"B","pad_before":5})";
  int time = 0;
  for (const std::string& job : jobs) {
    const std::size_t at = job.find('@');
    const bool isForward = job.front() == 'F';
    const int number = std::stoi(job.substr(1, at));
    if (at != std::string::npos) time = std::stoi(job.substr(at + 1));
    const std::string name = isForward ? "forward" : "backward";
    text += ",\n{\"name\":\"" + name + "\",\"ph\":\"B\",\"rel_ts\":" + std::to_string(time * 1000) +
            "}";
    time += isForward ? 10 : 20;
    const int chunk = isForward ? number % chunks : chunks - 1 - number % chunks;
    text += ",\n{\"microbatch\":" + std::to_string(number / chunks) +
            ",\"model_chunk\":" + std::to_string(chunk) +
            ",\"pp_rank\":" + std::to_string(position) + ",\"name\":\"" + name +
            "\",\"ph\":\"E\",\"rel_ts\":" + std::to_string(time * 1000) + "}";
  }
  return text + R"(,
{"name":"iteration","ph":"E","rel_ts":900000,"duration_wall":900000}])";
}

/// The stages that there are by files of these positions.
std::optional<int> stagesBy(const std::map<int, std::string>& files) {
  Timeline timeline;
  Diagnostics diagnostics;
  for (const auto& [position, text] : files) {
    ByteSource source("benchmark-data-0-pipeline-" + std::to_string(position) + "-tensor-0.json",
                      text);
    MegatronReader().read(source, {.nameRank = position}, timeline, diagnostics);
  }
  lineUpMegatronRanks(timeline, diagnostics);
  return timeline.ranks.begin()->second.numStages;
}

// 1F1B: position 2 of 4 runs two forwards, and its first backward waits for a forward and a
// backward of position 3.
TEST(MegatronReaderTest, ForwardsBeforeTheFirstBackwardSayHowManyRanksCameLater) {
  EXPECT_EQ(stagesBy({{2, jobsAt(2, {"F0", "F1", "B0@40", "F2", "B1@70", "F3", "B2", "B3"})}}), 4);
  EXPECT_EQ(stagesBy({{1, jobsAt(1, {"F0", "F1", "F2", "B0@70", "F3", "B1", "B2", "B3"})},
                      {2, jobsAt(2, {"F0", "F1", "B0@50", "F2", "B1", "F3", "B2", "B3"})}}),
            4);
  EXPECT_EQ(stagesBy({{2, jobsAt(2, {"F0", "B0", "F1", "B1", "F2", "B2", "F3", "B3"})}}), 3)
      << "it waits for nobody";
  EXPECT_EQ(stagesBy({{2, jobsAt(2, {"F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"})}}), 3)
      << "one more forward than 1F1B, and nobody is waited for";
}

// Eager 1F1B has two forwards fewer at each position.
TEST(MegatronReaderTest, ForwardsThatBecomeTwoFewerARankSayWhichOneIsLast) {
  EXPECT_EQ(stagesBy({{1, jobsAt(1, {"F0", "F1", "F2", "F3", "F4", "B0@80", "F5", "B1"})},
                      {2, jobsAt(2, {"F0", "F1", "F2", "B0@40", "F3", "B1", "F4", "B2"})}}),
            4);
}

// Interleaved 1F1B, two chunks: position 1 of 3 runs 3 * 3 - 2 - 1 = 6 forwards.
TEST(MegatronReaderTest, ForwardsOfChunksSayHowManyRanksCameLater) {
  EXPECT_EQ(
      stagesBy({{1, jobsAt(1, {"F0", "F1", "F2", "F3", "F4", "F5", "B0@80", "F6", "B1"}, 2)}}),
      2 * 3);
}

// All forwards first: each later rank holds the first backward up by a forward and a backward. So
// may other things, but files of ranks are missing.
TEST(MegatronReaderTest, ThatFilesAreMissingMakesAWaitForLaterRanksOneForTheirs) {
  const std::vector<std::string> waits = {"F0", "F1", "F2", "B2@60", "B1", "B0"};
  EXPECT_EQ(stagesBy({{1, jobsAt(1, waits)}}), 3);
  EXPECT_EQ(stagesBy({{0, jobsAt(0, waits)}, {1, jobsAt(1, waits)}}), 2) << "no file is missing";
  EXPECT_EQ(stagesBy({{1, jobsAt(1, {"F0", "F1", "F2", "B2@45", "B1", "B0"})}}), 2)
      << "half a rank is none";
  EXPECT_EQ(stagesBy({{1, jobsAt(1, {"F0", "F1", "B0@40", "B1"})}}), 3)
      << "1F1B of two micro-batches: a forward and a backward after its first forward";
}

}  // namespace
}  // namespace pipetrace
