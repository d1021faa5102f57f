#include "runtime/session/session.h"

#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/log/log_thread.h"
#include "profiler/recorder.h"
#include "runtime/control/verdict/verdict.h"
#include "runtime/errors/error_text.h"
#include "runtime/executor.h"
#include "runtime/lanes/rank_threads.h"
#include "runtime/program/plan_words.h"
#include "runtime/record/rank_recording.h"
#include "runtime/record/record_job.h"
#include "runtime/transport/forwarding_transport.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/in_process.h"
#include "runtime/transport/line_transport.h"
#include "schedule/plan.h"
#include "trace/error.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

/// The transports of a rank through NCCL, so that the end of a run reaches them. The run may end
/// before there is one.
///
/// Threads: any.
class NcclPlace {
 public:
  void abort(const std::string& text);
  void add(Transport& line);
  void remove(Transport& line);

 private:
  std::mutex mutex_;
  std::set<Transport*> lines_;
  std::optional<std::string> failure_;
};

/// A rank that is about to send its messages through NCCL.
struct NcclRank {
  const GlooRun& run;
  const ProcessEnv& env;
  NcclPlace& place;
  NcclCommunicators communicators = NcclCommunicators::kRank;
  Nanoseconds connectTimeout = 0;
};

/// A rank's communicators of NCCL, which all plans share that the ranks run in turn.
class RankOverNccl {
 public:
  /// Connects with the other ranks. Throws Error as connectNccl() does.
  RankOverNccl(const NcclRank& rank, const RankDevice& device);
  RankOverNccl(const RankOverNccl&) = delete;
  RankOverNccl& operator=(const RankOverNccl&) = delete;

  /// The transport of a plan, with `host` for what stays on the host. Both must outlive it.
  std::unique_ptr<Transport> lineOf(Transport& host, const Plan& plan);

 private:
  const int rank_;
  NcclPlace& place_;
  const LineTransportOptions options_;
};

void NcclPlace::abort(const std::string& text) {
  const std::lock_guard lock(mutex_);
  failure_ = text;
  for (Transport* const line : lines_) line->abort(text);
}

void NcclPlace::add(Transport& line) {
  const std::lock_guard lock(mutex_);
  lines_.insert(&line);
  if (failure_) line.abort(*failure_);
}

void NcclPlace::remove(Transport& line) {
  const std::lock_guard lock(mutex_);
  lines_.erase(&line);
}

/// Is in its place while it lives.
class LineInPlace : public LineTransport {
 public:
  LineInPlace(Transport& host, LineTransportOptions options, NcclPlace& place)
      : LineTransport(host, std::move(options)), place_(place) {
    place_.add(*this);
  }
  ~LineInPlace() override { place_.remove(*this); }

 private:
  NcclPlace& place_;
};

RankOverNccl::RankOverNccl(const NcclRank& rank, const RankDevice& device)
    : rank_(rank.env.rank),
      place_(rank.place),
      options_(connectNccl({.store = rank.run.store,
                            .rank = rank.env.rank,
                            .worldSize = rank.env.worldSize,
                            .device = device.device(),
                            .communicators = rank.communicators,
                            .timeout = rank.connectTimeout})) {}

std::unique_ptr<Transport> RankOverNccl::lineOf(Transport& host, const Plan& plan) {
  LineTransportOptions options = options_;
  options.microBatches = plan.microBatchesOfReplica();
  options.replicas = plan.replicas;
  options.rowsFrom = plan.lastRankOf(plan.replicaOf(rank_));
  return std::make_unique<LineInPlace>(host, std::move(options), place_);
}

/// The words of all plans that the ranks run in turn: those of the plan in whose action a rank is
/// (ActionStatus::program).
///
/// Threads: any.
class ProgramWords {
 public:
  ProgramWords();

  /// The words of plan `program`, once; those of the same number after that are not taken.
  void add(int program, PlanWords words);
  /// For ControlOptions. They may outlive this.
  PlanWords words() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct ProgramWords::State {
  std::mutex mutex;
  std::map<int, PlanWords> programs;

  /// A rank may be in a plan that this one has not begun: then there are no words.
  PlanWords of(int program) {
    const std::lock_guard lock(mutex);
    const auto found = programs.find(program);
    return found == programs.end() ? PlanWords() : found->second;
  }
};

ProgramWords::ProgramWords() : state_(std::make_shared<State>()) {}

void ProgramWords::add(int program, PlanWords words) {
  const std::lock_guard lock(state_->mutex);
  state_->programs.emplace(program, std::move(words));
}

PlanWords ProgramWords::words() const {
  PlanWords all;
  all.action = [state = state_](int rank, const ActionStatus& status) {
    const PlanWords words = state->of(status.program);
    if (words.action) return words.action(rank, status);
    return std::string("an action of a plan that this rank has not begun");
  };
  all.message = [state = state_](int rank, const ActionStatus& waiting) {
    const PlanWords words = state->of(waiting.program);
    return words.message ? words.message(rank, waiting) : std::string("a message");
  };
  all.isStillSent = [state = state_](int rank, const ActionStatus& waiting,
                                     const ActionStatus& sender) {
    const PlanWords words = state->of(waiting.program);
    return !words.isStillSent || words.isStillSent(rank, waiting, sender);
  };
  return all;
}

/// A rank's transport for one of the plans that the ranks run in turn: its lanes have the plan's
/// number (LaneName::program). The clock of the inner transport stays what it is.
class ProgramTransport : public ForwardingTransport {
 public:
  /// `inner` must outlive it.
  ProgramTransport(Transport& inner, int program) : ForwardingTransport(inner), program_(program) {}

  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return inner().openSend(to, named(name), messages);
  }
  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override {
    return inner().openReceive(from, named(name), messages);
  }

 private:
  LaneName named(LaneName name) const {
    name.program = program_;
    return name;
  }

  const int program_;
};

/// The recorders of this process that are open now.
///
/// Threads: any.
class OpenLogs {
 public:
  void add(Recorder& recorder) {
    const std::lock_guard lock(mutex_);
    recorders_.insert(&recorder);
  }
  void remove(Recorder& recorder) {
    const std::lock_guard lock(mutex_);
    recorders_.erase(&recorder);
  }
  /// Writes out what they hold, while their ranks' own threads stand still.
  void flush() {
    const std::lock_guard lock(mutex_);
    for (Recorder* const recorder : recorders_) recorder->flush();
  }

 private:
  std::mutex mutex_;
  std::set<Recorder*> recorders_;
};

/// Is among the open logs while it lives.
class OpenLog {
 public:
  OpenLog(OpenLogs& logs, Recorder& recorder) : logs_(logs), recorder_(recorder) {
    logs_.add(recorder_);
  }
  ~OpenLog() { logs_.remove(recorder_); }
  OpenLog(const OpenLog&) = delete;
  OpenLog& operator=(const OpenLog&) = delete;

 private:
  OpenLogs& logs_;
  Recorder& recorder_;
};

/// The job logs of this process that could not be written.
///
/// Threads: any.
class LogLosses {
 public:
  void add(const LogLost::Loss& loss);
  /// "the job logs of ranks 0 and 2 are incomplete from step 37 on: No space left on device";
  /// empty: there are none.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::set<int> ranks_;
  std::int32_t step_ = kNotGiven;  // the lowest
  std::string why_;                // of the first
};

void LogLosses::add(const LogLost::Loss& loss) {
  const std::lock_guard lock(mutex_);
  if (ranks_.empty()) why_ = loss.why;
  ranks_.insert(loss.rank);
  if (loss.step != kNotGiven) step_ = step_ == kNotGiven ? loss.step : std::min(step_, loss.step);
}

std::string LogLosses::text() const {
  const std::lock_guard lock(mutex_);
  if (ranks_.empty()) return {};
  const bool isOne = ranks_.size() == 1;
  return std::string(isOne ? "the job log of " : "the job logs of ") +
         ranksText({ranks_.begin(), ranks_.end()}) + (isOne ? " is" : " are") + " incomplete" +
         (step_ == kNotGiven ? "" : " from step " + std::to_string(step_) + " on") + ": " + why_;
}

/// All ranks of this process share it.
struct SharedBySession {
  SessionOptions options;
  ProgramWords words;
  OpenLogs logs;
  LogLosses losses;

  void say(const std::string& line) const {
    if (options.say) options.say(line);
  }
};

/// The clock of a recorder, for the stamps of a rank's transport. Devices know their own times.
StampClock stampsOf(const RankRecording* recording, const RankDevice* device) {
  if (recording == nullptr || device != nullptr) return {};
  const RecordedStreams streams = recording->streams();
  return [recorder = streams.recorder, stream = streams.send[0]] { return recorder->mark(stream); };
}

class RankOfSession : public SessionRank {
 public:
  /// `nccl` is empty, or connects through NCCL.
  RankOfSession(SharedBySession& shared, Transport& transport, ControlChannel& control,
                std::optional<RunClock> clock, const NcclRank* nccl)
      : shared_(shared), transport_(transport), control_(control) {
    const SessionOptions& options = shared_.options;
    // Ranks share the machine's cores; and with one thread the bits do not depend on their number.
    torch::set_num_threads(1);
    if (options.device != c10::kCPU) {
      const int local = options.env ? options.env->localRank : transport.rank();
      device_.emplace(deviceOfRank(options.device, local, options.sharesDevices),
                      usualJobsAhead(*options.plan));
    }
    if (nccl != nullptr) overNccl_.emplace(*nccl, *device_);
    if (!options.logDirectory.empty()) openLog(std::move(clock));
    transport_.useClock(stampsOf(recording_.get(), device()));
  }

  /// Unless finish() came, peers that wait for this rank get an error.
  ~RankOfSession() override { endPrograms(); }

  int rank() const override { return transport_.rank(); }
  RankDevice* device() override { return device_ ? &*device_ : nullptr; }
  int stepsRun() const override { return stepsRun_; }
  void countStepsFrom(int steps) override { stepsRun_ = steps; }
  Recorder* recorder() override { return streams().recorder; }
  void runBetweenSteps(JobKind kind, const std::function<void(const Job&)>& body) override {
    pause();
    const RecordedStreams recorded = streams();
    Job job{.kind = kind, .step = lastTraining_};
    if (recorded.recorder != nullptr) {
      recorded.recorder->setPhase(Phase::kTraining);
      job.id = recorded.recorder->nextJobId();
    }
    recordJob(recorded, job, [&] { body(job); });
  }
  HostGroup& hosts() override {
    pause();
    if (!hosts_) hosts_.emplace(transport_, control_);
    return *hosts_;
  }

  int add(const CheckedPlan& plan, StageWork& work, Phase phase) override {
    pause();
    const auto number = static_cast<int>(programs_.size());
    control_.enter(number);
    auto program = std::make_unique<Program>(transport_, number, phase);
    if (overNccl_) program->line = overNccl_->lineOf(program->transport, *plan);
    program->executor.emplace(plan, work, program->used(), streams(),
                              ExecutorOptions{.control = &control_});
    shared_.words.add(
        number,
        wordsOf(plan, ExecutorOptions{}.ahead,
                {work.routes(*plan), work.ties(), work.agrees(), work.hasMetrics()}, phase));
    programs_.push_back(std::move(program));
    current_ = kNone;  // whatever runs next enters its own plan
    return number;
  }

  void runStep(int program, int step) override {
    if (program != current_) {
      pause();
      control_.enter(current_ = program);
    }
    Program& own = *programs_.at(static_cast<std::size_t>(program));
    if (recording_) recording_->streams().recorder->setPhase(own.phase);
    own.executor->runStep(step, stepsRun_);
    if (own.phase == Phase::kTraining) lastTraining_ = stepsRun_;
    ++stepsRun_;
  }

  Nanoseconds computed(int program) const override {
    return programs_.at(static_cast<std::size_t>(program))->executor->computed();
  }

  void finish() {
    for (const auto& program : programs_) program->executor->end();
    control_.finish();
  }

  void closeLog() {
    endPrograms();
    open_.reset();
    if (!recording_) return;
    try {
      recording_->close();
    } catch (const LogLost& lost) {
      shared_.losses.add(lost.loss());
    }
  }

 private:
  struct Program {
    Program(Transport& inner, int number, Phase ofSteps)
        : phase(ofSteps), transport(inner, number) {}
    Transport& used() { return line ? static_cast<Transport&>(*line) : transport; }

    const Phase phase;
    ProgramTransport transport;
    std::unique_ptr<Transport> line;  // over NCCL
    std::optional<Executor> executor;
  };

  void keepAny(std::shared_ptr<void> own) override { kept_.push_back(std::move(own)); }

  void endPrograms() {
    programs_.clear();
    hosts_.reset();
    while (!kept_.empty()) kept_.pop_back();
    transport_.useClock({});
  }

  void openLog(std::optional<RunClock> clock) {
    const SessionOptions& options = shared_.options;
    recording_ = std::make_unique<RankRecording>(
        RankRecordingOptions{.logDirectory = options.logDirectory,
                             .info = rankInfoOf(*options.plan, transport_.rank(), options.blocks),
                             .steps = options.recordedSteps,
                             .isProcess = options.env.has_value(),
                             .device = device(),
                             .hasLine = options.nccl == NcclCommunicators::kRank,
                             .clock = std::move(clock)});
    open_.emplace(shared_.logs, *recording_->streams().recorder);
  }

  RecordedStreams streams() const { return recording_ ? recording_->streams() : RecordedStreams{}; }

  void pause() {
    if (current_ != kNone) programs_[static_cast<std::size_t>(current_)]->executor->pause();
  }

  SharedBySession& shared_;
  Transport& transport_;
  ControlChannel& control_;
  std::optional<RankDevice> device_;
  std::optional<RankOverNccl> overNccl_;
  std::unique_ptr<RankRecording> recording_;
  std::optional<OpenLog> open_;
  std::vector<std::shared_ptr<void>> kept_;
  std::optional<HostGroup> hosts_;
  std::vector<std::unique_ptr<Program>> programs_;
  static constexpr int kNone = -1;
  int current_ = kNone;
  int stepsRun_ = 0;
  std::int32_t lastTraining_ = kNotGiven;  // the number of that step
};

ControlOptions controlOptions(SharedBySession& shared) {
  const SessionOptions& own = shared.options;
  ControlOptions options;
  options.limits.stall.stepTimeout = own.stepTimeout;
  if (own.silence > 0) options.limits.silence = own.silence;
  if (own.stepTimeout == 0) options.limits.silence = 0;  // somebody debugs a rank
  options.words = shared.words.words();
  options.beforeExit = [&shared](const std::string& text) {
    shared.say("error: " + text);
    shared.logs.flush();
  };
  return options;
}

void requireRanks(const SessionOptions& options) {
  if (!options.env) {
    if (options.nccl) throw Error("messages through NCCL need a process for each rank");
    return;
  }
  if (options.env->worldSize != options.plan->numRanks()) {
    throw Error("the plan " + options.plan->name + " is for " +
                std::to_string(options.plan->numRanks()) + " ranks, but " +
                std::to_string(options.env->worldSize) + " run");
  }
}

}  // namespace

/// The ranks are on threads of their own, or the only one is on the caller's.
class Session::Impl {
 public:
  explicit Impl(SessionOptions options) : shared_{.options = std::move(options)} {
    requireRanks(shared_.options);
    shared_.options.env ? connectProcess() : connectThreads();
    try {
      onEachRank([this](int rank) { makeRank(rank); });
    } catch (...) {
      leave();
      throw;
    }
  }

  ~Impl() { leave(); }

  void run(const std::function<void(SessionRank& rank)>& body) {
    if (hasFailed_) throw Error("this session has failed before");
    if (isFinished_) throw Error("this session has ended");
    onEachRank([&](int rank) { body(*ranks_[indexOf(rank)]); });
  }

  void stop(const std::string& reason) {
    (gloo_ ? *gloo_->control : *controls_.front()).stop(reason);
  }

  void finish() {
    if (isFinished_) return;
    run([this](SessionRank& rank) { ranks_[indexOf(rank.rank())]->finish(); });
    isFinished_ = true;
    forEachThread([this](int rank) { ranks_[indexOf(rank)]->closeLog(); });
    if (const std::string lost = shared_.losses.text(); !lost.empty()) {
      shared_.say("note: " + lost);
    }
  }

 private:
  void connectThreads() {
    const int ranks = shared_.options.plan->numRanks();
    hub_.emplace(ranks);
    std::vector<Transport*> pointers;
    for (int rank = 0; rank < ranks; ++rank) {
      pointers.push_back(transports_.emplace_back(hub_->connect(rank)).get());
    }
    controls_ = controlInProcess(controlOptions(shared_), pointers);
    threads_.emplace(ranks);
    ranks_.resize(static_cast<std::size_t>(ranks));
  }

  void connectProcess() {
    const SessionOptions& options = shared_.options;
    ControlOptions control = controlOptions(shared_);
    control.onFailure = [this](const FailureCause&, const std::string& text) { nccl_.abort(text); };
    gloo_ = connectGlooRun({.env = *options.env,
                            .store = options.store,
                            .connectTimeout = options.connectTimeout,
                            .linkTimeout = options.linkTimeout,
                            .overlaps = options.overlaps},
                           std::move(control), options.facts);
    ranks_.resize(1);
  }

  void makeRank(int rank) {
    std::unique_ptr<RankOfSession>& place = ranks_[indexOf(rank)];
    if (!gloo_) {
      place = std::make_unique<RankOfSession>(shared_, *transports_[indexOf(rank)],
                                              *controls_[indexOf(rank)], std::nullopt, nullptr);
      return;
    }
    const SessionOptions& options = shared_.options;
    const NcclRank nccl{.run = *gloo_,
                        .env = *options.env,
                        .place = nccl_,
                        .communicators = options.nccl.value_or(NcclCommunicators::kRank),
                        .connectTimeout = options.connectTimeout};
    place =
        std::make_unique<RankOfSession>(shared_, *gloo_->transport, *gloo_->control,
                                        std::move(gloo_->clock), options.nccl ? &nccl : nullptr);
  }

  /// Ranks belong to their threads.
  void leave() {
    forEachThread([this](int rank) { ranks_[indexOf(rank)].reset(); });
  }

  std::size_t indexOf(int rank) const { return gloo_ ? 0 : static_cast<std::size_t>(rank); }

  void forEachThread(const std::function<void(int rank)>& body) {
    if (threads_) return threads_->run(body);
    if (gloo_) body(gloo_->transport->rank());
  }

  /// A rank that fails ends the run for all.
  void onEachRank(const std::function<void(int rank)>& body) {
    try {
      forEachThread([&](int rank) {
        try {
          body(rank);
        } catch (...) {
          failOn(rank);
        }
      });
    } catch (...) {
      hasFailed_ = true;
      throw;
    }
  }

  [[noreturn]] void failOn(int rank) {
    ControlChannel& control = gloo_ ? *gloo_->control : *controls_[indexOf(rank)];
    Transport& transport = gloo_ ? *gloo_->transport : *transports_[indexOf(rank)];
    try {
      reportFailure(control);
    } catch (...) {
      transport.abort("it ended early");
      throw;
    }
  }

  SharedBySession shared_;
  NcclPlace nccl_;
  std::optional<InProcessHub> hub_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<ControlChannel>> controls_;
  std::optional<GlooRun> gloo_;
  std::optional<RankThreads> threads_;
  std::vector<std::unique_ptr<RankOfSession>> ranks_;
  bool hasFailed_ = false;
  bool isFinished_ = false;
};

Session::Session(SessionOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Session::~Session() = default;

void Session::run(const std::function<void(SessionRank& rank)>& body) { impl_->run(body); }

void Session::stop(const std::string& reason) { impl_->stop(reason); }

void Session::finish() { impl_->finish(); }

}  // namespace pipetrace
