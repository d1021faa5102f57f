// Jobs of kernels that are made by hand: which follow each other, and where messages are.
#include "parser/foreign/found_jobs/find_graph_jobs.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A rank that runs one kernel after the other, in two replays of one graph. Letters are kernels,
/// '|' is a message: "ab|c". Small letters take 10 us, capital ones of the same name 20 us.
std::vector<GraphKernel> replays(const std::string& order, int count = 2) {
  std::vector<GraphKernel> kernels;
  Nanoseconds now = 0;
  for (int replay = 0; replay < count; ++replay) {
    std::int64_t node = 0;
    for (const char each : order) {
      const bool isLong = each >= 'A' && each <= 'Z';
      const Nanoseconds length = (isLong ? 20 : 10) * kNsPerUs;
      const auto name = static_cast<StringId>(isLong ? each - 'A' + 'a' : each);
      kernels.push_back({.begin = now,
                         .end = now + length,
                         .launch = 100 + replay,
                         .node = node++,
                         .step = replay,
                         .name = name,
                         .isMessage = each == '|'});
      now += length;
    }
  }
  return kernels;
}

/// "F0 0-20": the jobs of the first step with their micro-batches and times in microseconds.
std::vector<std::string> jobsOf(std::vector<GraphKernel> kernels) {
  std::vector<std::string> list;
  for (const GraphJob& job : findGraphJobs(std::move(kernels)).jobs) {
    if (job.step != 0) continue;
    const char* const letter = job.kind == JobKind::kForward         ? "F"
                               : job.kind == JobKind::kBackward      ? "B"
                               : job.kind == JobKind::kBackwardInput ? "I"
                                                                     : "W";
    list.push_back(letter + std::to_string(job.microBatch) + " " +
                   std::to_string(job.begin / kNsPerUs) + "-" + std::to_string(job.end / kNsPerUs));
  }
  return list;
}

TEST(FindGraphJobs, MessagesPartJobs) {
  EXPECT_THAT(jobsOf(replays("ab|ab|xy|xy|")),
              ElementsAre("F0 0-20", "F1 30-50", "B0 60-80", "B1 90-110"));
}

TEST(FindGraphJobs, BackwardAndTheForwardBehindItArePartedByTheForwardThatStandsAlone) {
  EXPECT_THAT(
      jobsOf(replays("ab|ab|xyab|xy|xy")),
      ElementsAre("F0 0-20", "F1 30-50", "B0 60-80", "F2 80-100", "B1 110-130", "B2 140-160"));
}

TEST(FindGraphJobs, ForwardAndItsBackwardArePartedWhereKernelsOfOtherNamesBegin) {
  const std::string order = "|ababxyxyxy||ababxyxyxy|";
  EXPECT_TRUE(findGraphJobs(replays(order)).arePairs);
  EXPECT_THAT(jobsOf(replays(order)),
              ElementsAre("F0 10-50", "B0 50-110", "F1 130-170", "B1 170-230"));
}

TEST(FindGraphJobs, KernelsOfLossArePartedAsJobsUsuallyAre) {
  EXPECT_THAT(jobsOf(replays("|abababablxyxyxyxyxyxyxyxy||abababablxyxyxyxyxyxyxyxy|")),
              ElementsAre("F0 10-90", "B0 90-260", "F1 280-360", "B1 360-530"));
  // Which of the kernels are whose is not known.
  EXPECT_THAT(jobsOf(replays("|ablmxyz||ablmxyz|")), ElementsAre("F0 10-80", "F1 100-170"));
}

TEST(FindGraphJobs, KernelsOfOneNameAreOfTwoKindsIfTheirLengthsAre) {
  EXPECT_THAT(
      jobsOf(replays("aa|aa|AAaa|AA|AA")),
      ElementsAre("F0 0-20", "F1 30-50", "B0 60-100", "F2 100-120", "B1 130-170", "B2 180-220"));
  EXPECT_THAT(jobsOf(replays("|aaAA||aaAA|")),
              ElementsAre("F0 10-30", "B0 30-70", "F1 90-110", "B1 110-150"));
}

TEST(FindGraphJobs, FirstBackwardThatAddsNothingToGradientsIsOneOfThem) {
  EXPECT_THAT(
      jobsOf(replays("ab|ab|ab|xyxyxy|xyzxyzxy|xyzxyzxy|")),
      ElementsAre("F0 0-20", "F1 30-50", "F2 60-80", "B0 90-150", "B1 160-240", "B2 250-330"));
}

TEST(FindGraphJobs, HalvesOfBackwardsAreThirdKind) {
  EXPECT_THAT(
      jobsOf(replays("ab|ab|xx|yy|xx|yy")),
      ElementsAre("F0 0-20", "F1 30-50", "I0 60-80", "W0 90-110", "I1 120-140", "W1 150-170"));
}

TEST(FindGraphJobs, RunThatComesOnceInStepIsNoJob) {
  EXPECT_THAT(jobsOf(replays("ab|ab|xy|xyooooo")),
              ElementsAre("F0 0-20", "F1 30-50", "B0 60-80", "B1 90-110"));
}

TEST(FindGraphJobs, GraphOfEachJobNeedsNoMessageBetween) {
  std::vector<GraphKernel> kernels;
  const std::string order = "aabaabxxx";  // three launches of three nodes
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto begin = static_cast<Nanoseconds>(i) * kNsPerUs;
    kernels.push_back({.begin = begin,
                       .end = begin + kNsPerUs,
                       .launch = static_cast<std::int64_t>(i / 3),
                       .node = static_cast<std::int64_t>(i % 3 + (i < 6 ? 0 : 3)),
                       .step = 0,
                       .name = static_cast<StringId>(order[i])});
  }
  EXPECT_THAT(jobsOf(kernels), IsEmpty());  // a forward has no backward
  for (std::int64_t i = 0; i < 3; ++i) {
    kernels.push_back({.begin = (9 + i) * kNsPerUs,
                       .end = (10 + i) * kNsPerUs,
                       .launch = 4,
                       .node = 3 + i,
                       .step = 0,
                       .name = static_cast<StringId>('x')});
  }
  EXPECT_THAT(jobsOf(kernels), ElementsAre("F0 0-3", "F1 3-6", "B0 6-9", "B1 9-12"));
}

TEST(FindGraphJobs, NothingIsFoundWhereKindsHaveOtherCounts) {
  EXPECT_THAT(jobsOf(replays("ab|ab|ab|xy|xy|")), IsEmpty());
}

TEST(FindGraphJobs, PairThatKernelsDoNotPartIsOneForward) {
  EXPECT_TRUE(findGraphJobs(replays("|aaaa||aaaa|")).arePairs);
  EXPECT_THAT(jobsOf(replays("|aaaa||aaaa|")), ElementsAre("F0 10-50", "F1 70-110"));
}

TEST(FindGraphJobs, NothingIsFoundWithoutMessageInOneGraph) {
  EXPECT_THAT(jobsOf(replays("abxyx")), IsEmpty());
}

TEST(FindGraphJobs, NothingIsFoundWhereNodesDoNotCountInTheOrderOfTheirTimes) {
  std::vector<GraphKernel> kernels = replays("ab|ab|xy|xy|");
  for (GraphKernel& kernel : kernels) kernel.node = -kernel.node;
  EXPECT_THAT(jobsOf(kernels), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
