#include "runtime/rehearsal.h"

#include <pthread.h>
#include <sched.h>

#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/emulated_stream.h"
#include "profiler/recorder.h"
#include "runtime/emulated_work.h"
#include "runtime/executor.h"
#include "runtime/in_process_transport.h"
#include "runtime/rank_info_of.h"
#include "runtime/recorded_lanes.h"
#include "schedule/check.h"
#include "trace/error.h"
#include "trace/track.h"

namespace pipetrace {
namespace {

// From when the ranks' threads are started until the first job: enough for all to be there.
constexpr Nanoseconds kStartDelay = 50 * kNsPerMs;

/// A job on an emulated device begins when its thread gets a core, which on a busy machine can be
/// milliseconds late. The threads hardly compute, so where the system allows it they go first; the
/// threads of an executor that is made afterwards inherit it.
void preferThisThread() {
  const sched_param priority{.sched_priority = sched_get_priority_min(SCHED_RR)};
  pthread_setschedparam(pthread_self(), SCHED_RR, &priority);
}

/// One rank: its device, its recorder and its place in the pipeline.
class RehearsedRank {
 public:
  RehearsedRank(const RehearsalOptions& options, int rank, WallClock clock)
      : steps_(options.steps),
        recorder_(recorderOptions(options, rank)),
        device_(addLanes(clock)),
        work_(options.costs, *device_) {}

  /// The rank's own thread.
  void run(const Schedule& schedule, Transport& transport, Nanoseconds origin) {
    preferThisThread();
    device_->setOrigin(origin);
    {
      Executor executor(schedule, work_, transport, lanes_);
      device_->awaitStart(EmulatedStream::kNoArrival);
      for (int step = 0; step < steps_; ++step) executor.runStep(step);
      executor.finish();
    }
    recorder_.close();
  }

 private:
  static RecorderOptions recorderOptions(const RehearsalOptions& options, int rank) {
    RecorderOptions result;
    result.logDirectory = options.logDirectory;
    result.info = rankInfoOf(options.schedule, rank);
    result.info.device = "emulated";
    return result;
  }

  EmulatedStream* addLanes(WallClock clock) {
    auto device = std::make_unique<EmulatedStream>(clock);
    EmulatedStream* const result = device.get();
    lanes_.recorder = &recorder_;
    lanes_.compute = recorder_.addStream(std::string(kComputeLane), std::move(device));
    lanes_.send = recorder_.addStream(std::string(kSendLane), std::make_unique<CpuStream>(clock));
    lanes_.recv = recorder_.addStream(std::string(kRecvLane), std::make_unique<CpuStream>(clock));
    return result;
  }

  const int steps_;
  Recorder recorder_;
  RecordedLanes lanes_;
  EmulatedStream* device_;  // the recorder's
  EmulatedWork work_;
};

}  // namespace

void rehearse(const RehearsalOptions& options) {
  requireValid(options.schedule);
  if (options.costs.stages.size() < static_cast<std::size_t>(options.schedule.numStages)) {
    throw Error("there are costs of " + std::to_string(options.costs.stages.size()) +
                " stages, but schedule " + options.schedule.name + " has " +
                std::to_string(options.schedule.numStages));
  }
  const int numRanks = options.schedule.numRanks();
  const WallClock clock = WallClock::read();
  InProcessHub hub(numRanks);
  std::vector<std::unique_ptr<RehearsedRank>> ranks;
  for (int rank = 0; rank < numRanks; ++rank) {
    ranks.push_back(std::make_unique<RehearsedRank>(options, rank, clock));
  }
  std::mutex mutex;
  std::exception_ptr firstError;
  const Nanoseconds origin = monotonicNow() + kStartDelay;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < numRanks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::unique_ptr<Transport> transport = hub.connect(rank);
        ranks[static_cast<std::size_t>(rank)]->run(options.schedule, *transport, origin);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!firstError) firstError = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (firstError) std::rethrow_exception(firstError);
}

}  // namespace pipetrace
