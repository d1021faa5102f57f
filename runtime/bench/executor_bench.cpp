// Measures what the executor costs: stages that do nothing, with recording on. The ranks are
// threads of this process. Prints the wall time and the processor time of all threads (the log
// threads' included) for one action, the median and the least of several rounds.
//
//   executor_bench [schedule [ranks [micro-batches [steps of a round [rounds]]]]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "runtime/executor.h"
#include "runtime/lanes/rank_threads.h"
#include "runtime/record/rank_recording.h"
#include "runtime/rehearse/chain_work.h"
#include "runtime/transport/in_process.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

Nanoseconds read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

class EmptyWork : public ChainWork {
 public:
  void lr(int) override {}
  Message forward(int, int, Message) override { return {}; }
  Message backward(int, int, Message) override { return {}; }
  void optimizerStep() override {}
};

struct Round {
  double wall = 0;  // us an action of one rank
  double cpu = 0;   // us an action of all ranks
};

Round run(const CheckedPlan& plan, int steps) {
  RecordedLog log;
  InProcessHub hub(plan->numRanks());
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<EmptyWork> works(plan->ranks.size());
  std::vector<std::unique_ptr<Executor>> executors;
  std::size_t actions = 0;
  for (int rank = 0; rank < plan->numRanks(); ++rank) {
    transports.push_back(hub.connect(rank));
    recorders.push_back(std::make_unique<Recorder>(
        RecorderOptions{.logDirectory = log.folder(), .info = rankInfoOf(*plan, rank)}));
    executors.push_back(std::make_unique<Executor>(plan, works[static_cast<std::size_t>(rank)],
                                                   *transports.back(),
                                                   addCpuStreams(*recorders.back())));
    actions += plan->ranks[static_cast<std::size_t>(rank)].size() * static_cast<std::size_t>(steps);
  }
  const Nanoseconds wall = read(CLOCK_MONOTONIC);
  const Nanoseconds cpu = read(CLOCK_PROCESS_CPUTIME_ID);
  runRankThreads(plan->numRanks(), [&](int rank) {
    Executor& executor = *executors[static_cast<std::size_t>(rank)];
    for (int step = 0; step < steps; ++step) executor.runStep(step);
    executor.finish();
  });
  const auto perAction = [&](Nanoseconds since, clockid_t clock) {
    return static_cast<double>(read(clock) - since) / 1000 / static_cast<double>(actions);
  };
  Round round{.cpu = perAction(cpu, CLOCK_PROCESS_CPUTIME_ID)};
  round.wall = perAction(wall, CLOCK_MONOTONIC) * plan->numRanks();
  executors.clear();
  for (const auto& recorder : recorders) recorder->close();
  return round;
}

int integer(int argc, char** argv, int index, int otherwise) {
  return argc > index ? std::atoi(argv[index]) : otherwise;
}

void print(const char* what, const std::vector<Round>& rounds, double Round::*value) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(round.*value);
  std::sort(values.begin(), values.end());
  std::printf("%s an action: median %.3f us, least %.3f us\n", what, values[values.size() / 2],
              values.front());
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  using namespace pipetrace;
  const CheckedPlan plan = buildSchedule(argc > 1 ? argv[1] : "1F1B", integer(argc, argv, 2, 4),
                                         integer(argc, argv, 3, 32));
  std::vector<Round> rounds;
  for (int i = 0; i < integer(argc, argv, 5, 9); ++i) {
    rounds.push_back(run(plan, integer(argc, argv, 4, 200)));
  }
  std::printf("%s, %d ranks, %d micro-batches\n", plan->name.c_str(), plan->numRanks(),
              plan->numMicroBatches);
  print("wall time", rounds, &Round::wall);
  print("processor time", rounds, &Round::cpu);
}
