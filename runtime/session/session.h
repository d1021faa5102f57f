#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "profiler/recorder.h"
#include "profiler/switches.h"
#include "runtime/control/start/same_run.h"
#include "runtime/device/rank_device.h"
#include "runtime/session/host_group.h"
#include "runtime/stage_work.h"
#include "runtime/starting_ranks/process_env.h"
#include "runtime/transport/nccl.h"
#include "schedule/check/checked_plan.h"
#include "schedule/partition/block_table.h"
#include "trace/nanoseconds.h"
#include "trace/phase.h"
#include "trace/rank_info.h"

namespace pipetrace {

struct RunStore;

struct SessionOptions {
  /// The plan whose ranks and stages the logs describe. Other plans have as many ranks.
  CheckedPlan plan;
  BlockPartition blocks = {};  ///< of its stages, for the logs; empty: they have none
  /// The place of this process, which is one rank. Empty: the ranks are threads of this process.
  std::optional<ProcessEnv> env;
  std::shared_ptr<RunStore> store = {};             ///< of openRunStore(); null: it is opened
  RunFacts facts;                                   ///< with `env`: must be the same on all ranks
  Nanoseconds connectTimeout = 120 * kNsPerSecond;  ///< for all ranks to come together
  Nanoseconds linkTimeout = 8 * kNsPerSecond;       ///< for one connection
  Nanoseconds stepTimeout = 600 * kNsPerSecond;     ///< for one action; 0: no limit
  Nanoseconds silence = 0;                          ///< without a word of a rank; 0: as usual
  bool overlaps = true;                             ///< GlooOptions::overlaps
  c10::DeviceType device = c10::kCPU;
  bool sharesDevices = false;                  ///< several ranks on one device
  std::optional<NcclCommunicators> nccl = {};  ///< messages go through NCCL; with `env`
  std::string logDirectory;                    ///< empty: nothing is recorded
  StepRange recordedSteps;
  /// Gets lines for people: why the run ended, what the logs lack. Any thread; must not block.
  std::function<void(const std::string& line)> say;
};

/// A rank of a session, on its own thread.
///
/// Threads: the rank's own.
class SessionRank {
 public:
  virtual ~SessionRank() = default;

  virtual int rank() const = 0;
  /// Null: the rank computes on the CPU.
  virtual RankDevice* device() = 0;

  /// Keeps what belongs to the rank and to its thread, such as a plan's work, until the rank ends;
  /// what was kept last goes first.
  template <typename T>
  T& keep(std::unique_ptr<T> own) {
    T& kept = *own;
    keepAny(std::shared_ptr<T>(std::move(own)));
    return kept;
  }

  /// Adds a plan, and connects its lanes. All ranks add the same plans in the same order. `work`
  /// must live until the rank ends (keep()). Its steps are of that phase in logs and errors.
  /// Returns the plan's number. Throws Error as Executor's constructor does, and for a plan of
  /// another number of ranks.
  virtual int add(const CheckedPlan& plan, StageWork& work, Phase phase = Phase::kTraining) = 0;
  /// Runs a step of a plan. `step` is the plan's own (Executor::runStep()). In logs and errors
  /// steps count over all plans. All ranks run the same steps in the same order.
  virtual void runStep(int program, int step) = 0;
  /// Executor::computed() of a plan.
  virtual Nanoseconds computed(int program) const = 0;
  /// Runs `body` as a job of the compute lane, of the last step of training. Call it between steps.
  virtual void runBetweenSteps(JobKind kind, const std::function<void(const Job&)>& body) = 0;
  /// Where the rank records; null: nowhere. Valid while the rank lives.
  virtual Recorder* recorder() = 0;
  /// For messages between steps.
  virtual HostGroup& hosts() = 0;
  /// How many steps were run so far, of all plans: the number of the next one in the log.
  virtual int stepsRun() const = 0;
  /// Before the first step: as if that many had been run, such as before a checkpoint.
  virtual void countStepsFrom(int steps) = 0;

 private:
  virtual void keepAny(std::shared_ptr<void> own) = 0;
};

/// The ranks of a run, which run plans in turn: transport, control channel, device and log belong
/// to it.
///
/// Threads: one at a time; stop() from any.
class Session {
 public:
  /// With `env` it connects with the other ranks. Throws Error as connectGlooRun() does, for a
  /// world of another size than the plan's, and for devices that there are not.
  explicit Session(SessionOptions options);
  /// Ends the run for all ranks, unless finish() was called.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs `body` for each rank of this process, with an environment, on the calling thread. Waits
  /// for all. Throws Error with what ended the run, on whichever rank that was; the session is of
  /// no use then.
  void run(const std::function<void(SessionRank& rank)>& body);

  /// Ends the run for all ranks, for `reason` ("stopped by SIGTERM").
  void stop(const std::string& reason);

  /// Ends in order: waits until all ranks have ended their steps, and closes the logs. Throws as
  /// run() does. No plan's work is needed afterwards.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace
