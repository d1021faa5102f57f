#include "runtime/rehearse/rehearsal.h"

#include <pthread.h>
#include <sched.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "profiler/clock/clock_comparison.h"
#include "profiler/emulated_stream.h"
#include "profiler/recorder.h"
#include "runtime/executor.h"
#include "runtime/lanes/rank_threads.h"
#include "runtime/program/plan_words.h"
#include "runtime/record/rank_recording.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/rehearse/emulated_work.h"
#include "runtime/rehearse/message_lines.h"
#include "runtime/starting_ranks/stop_signal.h"
#include "runtime/transport/forwarding_transport.h"
#include "runtime/transport/in_process.h"
#include "schedule/add_transfers.h"
#include "schedule/simulate/plan_timing.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// The time from the start of the ranks' threads until the first job: enough for all to be there.
constexpr Nanoseconds kStartDelay = 50 * kNsPerMs;

/// Lets this thread run first, where the system allows it. A job on an emulated device begins when
/// its thread gets a core, which on a busy machine can be milliseconds late. The threads hardly
/// compute, and the threads of an executor that is made afterwards inherit this.
void preferThisThread() {
  const sched_param priority{.sched_priority = sched_get_priority_min(SCHED_RR)};
  pthread_setschedparam(pthread_self(), SCHED_RR, &priority);
}

bool hasLines(const RehearsalOptions& options) {
  return options.commStreams != CommStreams::kAsReached;
}

/// One end of each line of a rank of a full plan, in the order of lines.
std::vector<MessageEnd> endsOf(const Plan& plan, int rank, CommStreams lines) {
  std::map<int, MessageEnd> ends;
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    if (!isTransfer(action.kind)) continue;
    const PlannedMessage message = messageOf(action);
    const bool sends = isSend(action.kind);
    const int other = plan.rankOf(sends ? message.to() : message.from, message.microBatch);
    const MessageEnd end{.peer = other, .sends = sends, .forward = message.forward};
    ends.try_emplace(lineOf(lines, end), end);
  }
  std::vector<MessageEnd> list;
  for (const auto& [line, end] : ends) list.push_back(end);
  return list;
}

bool sharesLines(const RehearsalOptions& options) {
  return linesOfRank(options.commStreams, options.plan->numRanks()) > 0;
}

/// Hands messages on, and wakes those who wait for their turn when the run fails.
class TransportInLine : public ForwardingTransport {
 public:
  TransportInLine(std::unique_ptr<Transport> inner, MessageLines& lines)
      : ForwardingTransport(*inner), owned_(std::move(inner)), lines_(lines) {}
  void abort(const std::string& reason) noexcept override {
    ForwardingTransport::abort(reason);
    lines_.stop(reason);
  }

 private:
  const std::unique_ptr<Transport> owned_;
  MessageLines& lines_;
};

/// One rank: its device, its recorder and its place in the pipeline.
class RehearsedRank {
 public:
  /// `lines`: null without.
  RehearsedRank(const RehearsalOptions& options, int rank, WallClock clock, MessageLines* lines)
      : steps_(options.steps),
        stop_(options.stop),
        recorder_(recorderOptions(options, rank, clock)),
        device_(makeLanes(options, rank, clock)),
        work_(options.costs, rank, *device_, lines) {}

  /// Answers the other ranks' questions for the time, on a port of its own.
  std::unique_ptr<ClockServer> serveClock() const {
    return std::make_unique<ClockServer>(ClockPlace{.address = kHere}, ownClock());
  }
  /// Compares the clock with that of the rank whose server it is, now and at the end of run().
  void compareClock(int port) {
    comparison_ = std::make_unique<ClockComparison>(
        recorder_.logPath(), ClockPlace{.address = kHere, .port = port}, ownClock());
  }

  /// The rank's own thread.
  void run(const CheckedPlan& plan, Transport& transport, ControlChannel& control,
           Nanoseconds origin) {
    preferThisThread();
    device_->setOrigin(origin);
    try {
      runSteps(plan, transport, control);
    } catch (...) {
      close();
      throw;
    }
    close();
  }

  /// Writes out what the log holds, while the rank's own thread stands still.
  void flush() { recorder_.flush(); }

 private:
  static constexpr const char* kHere = "127.0.0.1";

  ClockFunction ownClock() const {
    return [clock = recorder_.clock()] { return clock.at(monotonicNow()); };
  }

  void close() {
    comparison_.reset();
    recorder_.close();
  }

  void runSteps(const CheckedPlan& plan, Transport& transport, ControlChannel& control) {
    Executor executor(plan, work_, transport, streams_, {.control = &control});
    device_->awaitStart(EmulatedStream::kNoArrival);
    for (int step = 0; step < steps_; ++step) {
      if (stop_ != nullptr && stop_->received() != 0) {
        throw Error("stopped before step " + std::to_string(step));
      }
      executor.runStep(step);
    }
    executor.finish();
  }

  static RecorderOptions recorderOptions(const RehearsalOptions& options, int rank,
                                         const WallClock& clock) {
    RecorderOptions result;
    result.logDirectory = options.logDirectory;
    result.info = rankInfoOf(*options.plan, rank);
    result.info.device = "emulated";
    if (sharesLines(options)) {
      for (const MessageEnd& end : endsOf(*options.plan, rank, options.commStreams)) {
        addLineName(options.commStreams, laneOf(options.commStreams, end), result.info.lines);
      }
    }
    result.clock = clock;
    if (options.hosts.empty()) return result;
    result.info.host = options.hosts.at(static_cast<std::size_t>(rank)).name;
    result.ringFile = false;  // it says how right a clock is, and not how wrong
    return result;
  }

  EmulatedStream* makeLanes(const RehearsalOptions& options, int rank, WallClock clock) {
    // The times of transfers, which are planned, are of the clock of emulated devices.
    const auto stream = [&] { return std::make_unique<EmulatedStream>(clock); };
    streams_ = sharesLines(options) ? addLines(recorder_, stream, options.commStreams,
                                               endsOf(*options.plan, rank, options.commStreams))
                                    : addStreams(recorder_, stream);
    return static_cast<EmulatedStream*>(&recorder_.stream(streams_.compute));
  }

  const int steps_;
  const StopSignal* const stop_;
  Recorder recorder_;
  std::unique_ptr<ClockComparison> comparison_;
  RecordedStreams streams_;
  EmulatedStream* device_;  // the recorder's
  EmulatedWork work_;
};

/// The clock of a rank's host.
WallClock clockOf(const RehearsalOptions& options, int rank, const WallClock& right,
                  Nanoseconds begin) {
  if (options.hosts.empty()) return right;
  return right.skewed(options.hosts.at(static_cast<std::size_t>(rank)).skew, begin);
}

/// Returns the plan that the ranks run. On lines, messages are handed over as soon as they are
/// made, and their order is that of the lines.
CheckedPlan runPlanOf(const RehearsalOptions& options) {
  if (!hasLines(options)) return options.plan;
  return CheckedPlan(withoutTransfers(*options.plan));
}

ControlOptions controlOptions(const RehearsalOptions& options, const CheckedPlan& plan,
                              std::vector<std::unique_ptr<RehearsedRank>>& ranks) {
  ControlOptions control;
  control.limits.stall.stepTimeout = options.stepTimeout;
  control.words = wordsOf(plan, ExecutorOptions{}.ahead);
  control.beforeExit = [&ranks](const std::string& text) {
    std::fprintf(stderr, "error: %s\n", text.c_str());
    for (const auto& rank : ranks) rank->flush();
  };
  return control;
}

}  // namespace

void requireRehearsable(const RehearsalOptions& options) {
  if (options.costs.stages.size() < static_cast<std::size_t>(options.plan->numStages)) {
    throw Error("there are costs of " + std::to_string(options.costs.stages.size()) +
                " stages, but the plan " + options.plan->name + " has " +
                std::to_string(options.plan->numStages));
  }
  if (hasLines(options)) PlanTiming(options.plan, options.costs, options.commStreams);
}

void rehearse(const RehearsalOptions& options) {
  requireRehearsable(options);
  const CheckedPlan plan = runPlanOf(options);
  const int numRanks = plan->numRanks();
  const WallClock clock = WallClock::read();
  const Nanoseconds begin = monotonicNow();
  InProcessHub hub(numRanks);
  std::optional<MessageLines> lines;
  if (hasLines(options)) lines.emplace(options.plan, options.costs, options.commStreams);
  std::unique_ptr<ClockServer> server;  // until the ranks have compared for the last time
  std::vector<std::unique_ptr<RehearsedRank>> ranks;
  for (int rank = 0; rank < numRanks; ++rank) {
    ranks.push_back(std::make_unique<RehearsedRank>(
        options, rank, clockOf(options, rank, clock, begin), lines ? &*lines : nullptr));
    if (options.hosts.empty() || !options.comparesClocks) continue;
    if (rank == 0) {
      server = ranks.front()->serveClock();
    } else {
      ranks.back()->compareClock(server->port());
    }
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < numRanks; ++rank) {
    transports.push_back(hub.connect(rank));
    if (!lines) continue;
    transports.back() = std::make_unique<TransportInLine>(std::move(transports.back()), *lines);
  }
  std::vector<Transport*> pointers;
  for (const auto& transport : transports) pointers.push_back(transport.get());
  const auto controls = controlInProcess(controlOptions(options, plan, ranks), pointers);
  const StopCallback onStop(options.stop, [&](const std::string& why) { controls[0]->stop(why); });
  const Nanoseconds origin = monotonicNow() + kStartDelay;
  runRankThreads(numRanks, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    try {
      const auto between = options.between ? options.between(*transports[i]) : nullptr;
      ranks[i]->run(plan, between ? *between : *transports[i], *controls[i], origin);
    } catch (const std::exception& e) {
      const std::string text = controls[i]->fail(e.what());
      transports[i]->abort(text);
      throw Error(text);
    }
  });
}

}  // namespace pipetrace
