// How long the analysis of a large run takes: 1F1B with transfers and collectives. Arguments:
// replicas, steps, threads; of the whole report and of a diff also the positions and micro-batches
// before them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "analysis/causes/explanation.h"
#include "analysis/causes/slowdown.h"
#include "analysis/present/diff_report.h"
#include "analysis/present/run_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/hybrid_run.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kMs = kNsPerMs;

/// The simulated run once for each replica, each job up to 5 % shorter. Collectives take the
/// places of `lr` and of half the optimizer.
Timeline makeRun(int replicas, int steps, int positions = 8, int microBatches = 16,
                 unsigned seed = 7) {
  const CheckedPlan plan = buildSchedule("1F1B", positions, microBatches);
  Costs costs = Costs::equal(positions, {.forward = 10 * kMs, .backward = 20 * kMs});
  costs.transfer = kMs;
  costs.lr = 4 * kMs;
  costs.optimizer = 8 * kMs;
  const Timeline one = simulate(plan, costs, {.steps = steps, .stepsStartTogether = true}).timeline;
  Timeline run;
  std::mt19937_64 random(seed);  // NOLINT: the same run every time
  const auto shorter = [&](Event& event) {
    event.end -= static_cast<Nanoseconds>(random() % (event.duration() / 20 + 1));
  };
  for (int replica = 0; replica < replicas; ++replica) {
    for (const Track& track : one.tracks) {
      const int rank = replica * positions + track.rank;
      RankInfo& info = run.ranks[rank];
      info = one.ranks.at(track.rank);
      info.rank = rank;
      info.worldSize = replicas * positions;
      info.dataParallelIndex = replica;
      std::vector<Event> events;
      std::vector<Event> collectives;
      for (Event event : track.events) {
        event.argumentCount = 0;
        event.peer = event.peer < 0 ? event.peer : replica * positions + event.peer;
        if (event.kind == JobKind::kLr) {
          event.kind = JobKind::kAllGather;
          shorter(event);
          collectives.push_back(event);
          continue;
        }
        if (event.kind == JobKind::kOptimizer) {
          Event sum = event;
          event.begin += event.duration() / 2;
          sum.kind = JobKind::kReduceScatter;
          sum.end = event.begin;
          shorter(sum);
          collectives.push_back(sum);
        }
        if (isComputeLane(event.kind)) shorter(event);
        events.push_back(event);
      }
      run.track(rank, track.lane).events = std::move(events);
      if (!collectives.empty()) run.track(rank, "nccl").events = std::move(collectives);
    }
  }
  run.sort();
  return run;
}

void slowdown(benchmark::State& state) {
  Timeline run = makeRun(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const int threads = static_cast<int>(state.range(2));
  Diagnostics diagnostics;
  completeTimeline(run, diagnostics, threads);
  const Topology topology = topologyOf(run, threads);
  const JobGraph graph(run, topology, threads);
  for (auto _ : state) {
    const Slowdown result = slowdownOf(run, graph, topology, {}, threads);
    if (!result.reason.empty()) state.SkipWithError(result.reason.c_str());
    benchmark::DoNotOptimize(result.total);
  }
  state.counters["jobs"] = static_cast<double>(graph.jobCount());
  state.counters["ranks"] = static_cast<double>(graph.ranks().size());
}

void jobGraph(benchmark::State& state) {
  Timeline run = makeRun(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const int threads = static_cast<int>(state.range(2));
  Diagnostics diagnostics;
  completeTimeline(run, diagnostics, threads);
  const Topology topology = topologyOf(run, threads);
  for (auto _ : state) {
    benchmark::DoNotOptimize(JobGraph(run, topology, threads).jobCount());
  }
}

/// All that `pipe-trace report --json` does after the run is loaded.
void wholeReport(benchmark::State& state) {
  Timeline run = makeRun(static_cast<int>(state.range(2)), static_cast<int>(state.range(3)),
                         static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const int threads = static_cast<int>(state.range(4));
  Diagnostics diagnostics;
  completeTimeline(run, diagnostics, threads);
  std::size_t jobs = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Run fresh(run, threads);
    state.ResumeTiming();
    const Explanation explanation(fresh, {});
    jobs = explanation.graph->jobCount();
    const std::string text = runReportJson({explanation, diagnostics});
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["jobs"] = static_cast<double>(jobs);
}

/// The same for 64 ranks, 8 of each stage, whose jobs have 16 kernels, and 16 collectives in which
/// these ranks meet (second argument 1), or which are not recorded (0).
void reportOfMeetings(benchmark::State& state) {
  HybridRun made;
  made.stages = 8;
  made.tensor = 8;
  made.microBatches = 130;
  made.layers = 16;
  made.steps = static_cast<int>(state.range(0));
  std::mt19937_64 random(7);  // NOLINT: the same run every time
  made.kernel = [&](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    const Nanoseconds slow = kernel.rank == 19 ? usual / 10 : 0;
    return usual + slow - static_cast<Nanoseconds>(random() % (usual / 20));
  };
  Timeline timeline = made.timeline();
  if (state.range(1) == 0) {
    for (Track& track : timeline.tracks) {
      std::erase_if(track.events, [](const Event& event) { return isCollective(event.kind); });
    }
  }
  const int threads = static_cast<int>(state.range(2));
  const Diagnostics diagnostics;
  std::size_t jobs = 0;
  std::size_t collectives = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Run fresh(timeline, threads);
    state.ResumeTiming();
    const Explanation explanation(fresh, {});
    jobs = explanation.graph->jobCount();
    collectives = explanation.graph->inside().meetings().size();
    const std::string text = runReportJson({explanation, diagnostics});
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["jobs"] = static_cast<double>(jobs);
  state.counters["collectives"] = static_cast<double>(collectives);
}

/// All that `pipe-trace diff --json` does after both runs are loaded.
void wholeDiff(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(4));
  const auto make = [&](unsigned seed) {
    Timeline run =
        makeRun(static_cast<int>(state.range(2)), static_cast<int>(state.range(3)),
                static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), seed);
    Diagnostics diagnostics;
    completeTimeline(run, diagnostics, threads);
    return run;
  };
  const Timeline a = make(7);
  const Timeline b = make(8);
  std::size_t parts = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Run freshA(a, threads);
    Run freshB(b, threads);
    state.ResumeTiming();
    const RunDiff diff = diffOf(std::move(freshA), std::move(freshB), {});
    parts = diff.parts.size();
    const std::string text = diffJson({diff, "a", "b"});
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["parts"] = static_cast<double>(parts);
}

BENCHMARK(slowdown)
    ->Args({125, 31, 1})
    ->Args({125, 31, 2})
    ->Args({12, 310, 2})
    ->Args({1, 31, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(jobGraph)->Args({125, 31, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(wholeReport)
    ->Args({16, 128, 1, 244, 2})
    ->Args({16, 128, 1, 24, 2})
    ->Args({64, 128, 1, 60, 2})
    ->Args({8, 16, 125, 31, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(reportOfMeetings)
    ->ArgsProduct({{8, 60}, {0, 1}, {2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(wholeDiff)
    ->Args({64, 130, 1, 60, 2})
    ->Args({8, 16, 125, 31, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace pipetrace

BENCHMARK_MAIN();
