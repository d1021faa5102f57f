#include "tests/traces/made_up_pipeline.h"

#include "parser/testing/kineto_text.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/dry_run.h"

namespace pipetrace::test {
namespace {

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kStart = 100'000;  // of the step on the devices, in microseconds
constexpr std::int64_t kAhead = 30'000;
constexpr std::int64_t kLaunching = 1000;
constexpr Nanoseconds kBase = 1'700'000'000'000'000'000;  // of KinetoText

constexpr int kMainThread = 1;
constexpr int kAutogradThread = 2;
constexpr int kFirstStream = 7;
constexpr int kSecondStream = 8;
constexpr int kNcclStream = 20;

/// Writes the trace of one rank, job after job.
class RankTrace {
 public:
  RankTrace(int rank, int ranks) : rank_(rank) {
    trace_.rank(rank, ranks);
    trace_.annotation("ProfilerStep#0", {.thread = kMainThread, .begin = 0, .length = 1'000'000});
  }

  /// `begin` and `end` on the device, in microseconds.
  void add(const Action& action, std::int64_t begin, std::int64_t end) {
    const std::int64_t host = begin - kAhead;
    const bool isForward = action.kind == JobKind::kForward;
    trace_.annotation("PP:" + toText(action),
                      {.thread = kMainThread, .begin = host, .length = kLaunching});
    message(host, begin);
    if (isForward && rank_ == 2 && action.microBatch == 1) return graph(host, begin, end);
    if (isForward) {
      work(kMainThread, host, begin, end);
    } else {
      trace_.operation("autograd::engine::evaluate_function: AddmmBackward0",
                       {.thread = kAutogradThread, .begin = host + 5, .length = 500});
      work(kAutogradThread, host, begin, end);
    }
  }

  std::string text() const { return trace_.text(); }

 private:
  /// The receive of a message: launched before the job, and done when it begins.
  void message(std::int64_t host, std::int64_t begin) {
    ++correlation_;
    trace_.launch(correlation_, {.thread = kMainThread, .begin = host - 20, .length = 5})
        .kernel(correlation_, {.stream = kNcclStream, .begin = begin - 500, .length = 500},
                "ncclDevKernel_SendRecv");
  }

  /// Three kernels: the first from `begin` on, the last on another stream until `end`.
  void work(int thread, std::int64_t host, std::int64_t begin, std::int64_t end) {
    const std::int64_t half = (end - begin) / 2;
    const std::int64_t begins[] = {begin, begin + half, begin + half + 100};
    const std::int64_t ends[] = {begin + half - 50, begin + half + 200, end};
    for (int i = 0; i < 3; ++i) {
      // The last one is launched after autograd's last operator.
      const std::int64_t at = i < 2 ? host + 10 + 100 * i : host + 900;
      ++correlation_;
      trace_.launch(correlation_, {.thread = thread, .begin = at, .length = 5})
          .kernel(correlation_, {.stream = i < 2 ? kFirstStream : kSecondStream,
                                 .begin = begins[i],
                                 .length = ends[i] - begins[i]});
    }
  }

  void graph(std::int64_t host, std::int64_t begin, std::int64_t end) {
    ++correlation_;
    trace_.launch(correlation_, {.thread = kMainThread, .begin = host + 10, .length = 5},
                  "cudaGraphLaunch");
    const std::int64_t part = (end - begin) / 5;
    for (int i = 0; i < 5; ++i) {
      const std::int64_t from = begin + part * i;
      trace_.kernel(
          correlation_,
          {.stream = kFirstStream, .begin = from, .length = i < 4 ? part - 10 : end - from});
    }
  }

  int rank_;
  KinetoText trace_;
  std::int64_t correlation_ = 0;
};

}  // namespace

MadeUpPipeline makePipeline(int ranks, int microBatches) {
  const CheckedPlan plan = buildSchedule("1F1B", ranks, microBatches);
  const DryRun run = dryRun(plan, Costs::equal(ranks, {10'000, 20'000}));
  MadeUpPipeline made;
  for (int rank = 0; rank < ranks; ++rank) {
    RankTrace trace(rank, ranks);
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < plan->ranks[r].size(); ++i) {
      const Action& action = plan->ranks[r][i];
      const std::int64_t begin = kStart + run.ranks[r].begin[i];
      const std::int64_t end = kStart + run.ranks[r].end[i];
      trace.add(action, begin, end);
      made.jobs.push_back({rank, action.kind, action.stage, action.microBatch, kBase + begin * kUs,
                           kBase + end * kUs});
    }
    made.traces.push_back(trace.text());
  }
  return made;
}

}  // namespace pipetrace::test
