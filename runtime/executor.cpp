#include "runtime/executor.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "runtime/device/rank_device.h"
#include "runtime/errors/error_text.h"
#include "runtime/program/plan_words.h"
#include "runtime/program/rank_program.h"
#include "runtime/rank_messages.h"
#include "runtime/record/record_job.h"
#include "runtime/stage_work.h"
#include "runtime/sums/gradient_sums.h"
#include "runtime/sums/scalar_all_reduce.h"
#include "runtime/transport/message.h"
#include "runtime/transport/transport.h"
#include "schedule/check/check.h"
#include "schedule/check/checked_plan.h"
#include "schedule/check/update_meetings.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Ends a step whose last stage is on several ranks. They say their figures to the first of them,
/// which adds them in the order of ranks (StepFigures::takeSums()). Does nothing on other ranks,
/// and where there are no figures: gradients bring the loss along.
///
/// `rowsOfRank`: those of this rank's batch. Threads: the compute thread. It waits for the device.
void addUpLosses(const RankProgram& program, StepFigures& work, std::int64_t rowsOfRank,
                 RankMessages& messages, int step) {
  if (!program.lossSum) return;
  std::vector<double> sums = work.sharesOfStep();
  const auto rows = static_cast<double>(rowsOfRank);
  if (program.lossSum->to) {
    sums.push_back(rows);
    return messages.sendOnHost(*program.lossSum->to, step, messageOf(sums));
  }
  for (double& sum : sums) sum *= rows;
  double allRows = rows;
  for (const RankProgram::LossSum::Other& other : program.lossSum->from) {
    const std::vector<double> said =
        numbersOf(messages.receiveOnHost(other.message, step, Awaited::kLosses));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += said.at(i) * said.back();
    if (other.opensReplica) allRows += said.back();
  }
  for (double& sum : sums) sum /= allRows;
  work.takeSums(sums);
}

/// Hands the plan to the work (StageWork::accept()). Throws Error for a plan that the work or the
/// transport cannot run, such as one that deadlocks on its lines. `ahead`: as in ExecutorOptions.
void requireFits(const CheckedPlan& plan, StageWork& work, const Transport& transport, int ahead) {
  if (plan->numRanks() != transport.worldSize()) {
    throw Error("the plan " + plan->name + " is for " + std::to_string(plan->numRanks()) +
                " ranks, but " + std::to_string(transport.worldSize()) + " run");
  }
  work.accept(*plan, transport.rank());
  if (transport.commStreams() != CommStreams::kAsReached) {
    if (UpdateMeetings::exist(*plan)) {
      throw Error("the plan " + plan->name +
                  " changes the weights of stages on several ranks without a flush, and the sums "
                  "of these have no place among messages in line; take a communicator a lane, or "
                  "Gloo");
    }
    requireRunsInLine(fullPlan(plan, ahead), transport.commStreams());
  }
  if (!transport.sendsBlock()) return;
  const std::vector<Problem> stuck = checkLimits(fullPlan(plan, ahead), {.buffers = kPostedOnly});
  if (stuck.empty()) return;
  throw Error("the plan " + plan->name +
              " cannot run where each send waits for its receive: " + toText(stuck.front()));
}

}  // namespace

class Executor::Impl {
 public:
  Impl(const CheckedPlan& plan, StageWork& work, Transport& transport, RecordedStreams streams,
       const ExecutorOptions& options)
      : rank_(transport.rank()),
        work_(work),
        planned_(work.plannedTransfers()),
        device_(work.device()),
        transport_(transport),
        streams_(withStepsBefore(streams)),
        program_(
            (requireFits(plan, work, transport, options.ahead),
             rankProgram(plan, rank_, options.ahead,
                         {work.routes(*plan), work.ties(), work.agrees(), work.hasMetrics()}))),
        control_(options.control),
        messages_(program_, transport, streams_, planned_, control_, device_),
        sums_(program_, work, messages_, streams_, planned_, device_),
        scalarAllReduce_(program_, work, messages_, streams_, planned_, device_),
        outgoing_(program_.transfers.size()),
        kept_(static_cast<std::size_t>(program_.kept)),
        ids_(program_.jobs.size(), kNotGiven) {
    if (streams_.recorder != nullptr) {
      for (const RankProgram::Job& job : program_.jobs) {
        texts_.push_back(streams_.recorder->text(job.text));
      }
    }
    // Last, because only the destructor takes it back.
    if (control_ == nullptr || device_ == nullptr) return;
    control_->followDevice([this] {
      const auto [oldest, count] = device_->unended();
      return QueuedActions{.oldest = oldest, .count = count};
    });
  }

  ~Impl() {
    if (control_ != nullptr) control_->followDevice({});
    // Wakes the transport's waits, which might otherwise last for as long as it allows.
    if (!finished_) transport_.abort("rank " + std::to_string(rank_) + " ended early");
    flushRecorder();
  }

  void runStep(int step, int number) {
    stepsBefore_ = number - step;
    guarded([&] { runStepUnguarded(step); });
  }

  Nanoseconds computed() const { return computed_; }

  void pause() {
    guarded([&] {
      messages_.settleSends();
      if (device_ != nullptr) device_->record()->synchronize();
    });
  }

  void endPlan() {
    guarded([&] { messages_.awaitSends(); });
    finished_ = true;
  }

  void finish() {
    guarded([&] {
      messages_.awaitSends();
      // All ranks have ended their actions then, so no message is on its way.
      control_ != nullptr ? control_->finish() : transport_.finish();
    });
    finished_ = true;
  }

 private:
  using Kind = RankProgram::Item::Kind;

  RecordedStreams withStepsBefore(RecordedStreams streams) const {
    streams.stepsBefore = &stepsBefore_;
    return streams;
  }

  void runStepUnguarded(int step) {
    step_ = step;
    next_ = 0;
    work_.beginStep(step);
    if (work_.hasData()) {
      runEdge(
          {.kind = JobKind::kData}, [&] { work_.awaitData(step); },
          numberOfData(step + stepsBefore_));
    }
    messages_.beginStep(step, work_.rows());
    sums_.beginStep(step);
    // A receive is posted before its job begins.
    for (std::int64_t& id : ids_) id = nextId();
    if (program_.opensWithLr) runEdge({.kind = JobKind::kLr}, [&] { work_.lr(step); });
    while (next_ < program_.items.size()) {
      const RankProgram::Item item = program_.items[next_++];
      switch (item.kind) {
        case Kind::kReceive: post(item.index); break;
        case Kind::kSend: send(item.index); break;
        case Kind::kJob: runJob(item.index); break;
        case Kind::kUpdate: runUpdate(item.index); break;
        case Kind::kReduction: sums_.reduce(item.index); break;
      }
      sums_.goOn();
    }
    if (program_.updatesAtEnd) {
      sums_.addUp();
      scalarAllReduce_.run(step);
      ++next_;
      runEdge({.kind = JobKind::kOptimizer}, [&] { work_.optimizerStep(); });
    }
    if (planned_ == nullptr) addUpLosses(program_, work_, work_.rows(), messages_, step);
    messages_.collectSends();
    if (streams_.recorder == nullptr) return;
    if (const auto loss = work_.loss()) streams_.recorder->counter("loss", *loss);
    for (const auto& [name, value] : work_.counters()) streams_.recorder->counter(name, value);
    streams_.recorder->endStep(streams_.inLog(step));
  }

  // data, lr and optimizer.
  template <typename Body>
  void runEdge(Job job, Body body) {
    runEdge(job, body, numberOfNext());
  }
  template <typename Body>
  void runEdge(Job job, Body body, std::int64_t number) {
    begin(number);
    job.step = streams_.inLog(step_);
    job.id = nextId();
    recordJob(streams_, job, body);
    end();
  }

  void runUpdate(int index) {
    const RankProgram::Update& update = program_.updates[static_cast<std::size_t>(index)];
    if (update.reduction != RankProgram::kNone) sums_.addUp(update.reduction);
    const Action action{.kind = JobKind::kOptimizer, .stage = update.stage};
    runEdge({.kind = JobKind::kOptimizer,
             .stage = update.stage,
             .chunk = update.chunk,
             .version = work_.versionOf(action)},
            [&] { work_.update(update.stage); });
  }

  void runJob(int index) {
    const auto at = static_cast<std::size_t>(index);
    const RankProgram::Job& job = program_.jobs[at];
    begin(numberOfNext());
    const std::int64_t id = ids_[at];
    if (device_ != nullptr) device_->awaitRoom();
    const Nanoseconds arrival = takeInputs(job);
    work_.launching(job.action, arrival);
    const Job recorded{.kind = job.action.kind,
                       .microBatch = job.action.microBatch - program_.firstMicroBatch,
                       .step = streams_.inLog(step_),
                       .stage = job.action.stage,
                       .chunk = job.chunk,
                       .id = id,
                       .action = texts_.empty() ? nullptr : texts_[at],
                       .part = job.action.part,
                       .version = work_.versionOf(job.action)};
    const Nanoseconds begun = monotonicNow();
    recordJob(streams_, recorded, [&] {
      run(job.action);
      keep(job);
      if (!work_.runsBehind()) return;
      // Peers then wait for the clock, and not for this thread to wake up. A credit may come later
      // than the job ends.
      acknowledge(job);
      while (next_ < program_.items.size() && program_.items[next_].kind == Kind::kSend &&
             !messages_.needsCredit(program_.items[next_].index)) {
        send(program_.items[next_++].index);
      }
      work_.awaitJob();
    });
    if (device_ != nullptr) {
      queued(job, id);
    } else {
      computed_ += monotonicNow() - begun;
    }
    if (!work_.runsBehind()) acknowledge(job);
    end();
  }

  std::int64_t numberOfNext() const { return numberOfItem(step_ + stepsBefore_, next_); }

  // `number`: numberOfItem() of next_, whose item is the one before it; or numberOfData().
  void begin(std::int64_t number) {
    if (control_ == nullptr) return;
    control_->check();
    control_->begin(number);
  }
  void end() {
    if (control_ != nullptr) control_->ended();
  }

  void run(const Action& action) {
    if (action.isPart()) return work_.runPart(action, messagesOf(1));
    const int stage = action.stage;
    const int microBatch = action.microBatch;
    switch (action.kind) {
      case JobKind::kForward: work_.runForward(stage, microBatch, messagesOf(0)); break;
      case JobKind::kBackward: work_.runBackward(stage, microBatch, messagesOf(1)); break;
      case JobKind::kBackwardInput: work_.runBackwardInput(stage, microBatch, messagesOf(1)); break;
      case JobKind::kBackwardWeight: work_.backwardWeight(stage, microBatch); break;
      case JobKind::kRecompute: work_.recompute(stage, microBatch); break;
      case JobKind::kForwardBackward:
        work_.runForwardBackward(action, messagesOf(0), messagesOf(1));
        break;
      default: throw Error("the action " + toText(action) + " is none that a rank can run");
    }
  }

  JobMessages messagesOf(std::size_t part) { return {inputs_[part], outputs_[part]}; }

  /// Fills the inputs of both parts. Returns the latest of their deadlines.
  Nanoseconds takeInputs(const RankProgram::Job& job) {
    Nanoseconds arrival = kNsMin;
    for (std::size_t part = 0; part < 2; ++part) {
      const RankProgram::Places& places = job.places[part];
      inputs_[part].resize(places.inputs.size());
      outputs_[part].resize(places.outputs.size());
      for (std::size_t i = 0; i < places.inputs.size(); ++i) {
        Message& input = inputs_[part][i];
        input = takeInput(places.inputs[i]);
        arrival = std::max(arrival, input.deadline);
      }
    }
    return arrival;
  }

  Message takeInput(const RankProgram::Place& place) {
    if (place.transfer == RankProgram::kNone) {
      return std::exchange(kept_[static_cast<std::size_t>(place.kept)], {});
    }
    return messages_.take(place.transfer, step_);
  }

  /// Takes over what the job has made, and gives up what it needed.
  void keep(const RankProgram::Job& job) {
    for (std::size_t part = 0; part < 2; ++part) {
      const RankProgram::Places& places = job.places[part];
      for (Message& input : inputs_[part]) input = {};
      for (std::size_t i = 0; i < places.outputs.size(); ++i) {
        const RankProgram::Place& place = places.outputs[i];
        Message output = std::exchange(outputs_[part][i], {});
        if (place.transfer != RankProgram::kNone) {
          outgoing_[static_cast<std::size_t>(place.transfer)] = std::move(output);
        } else if (place.kept != RankProgram::kNone) {
          kept_[static_cast<std::size_t>(place.kept)] = std::move(output);
        }
      }
    }
  }

  /// The job is queued on the device: what it has made is there when it has ended.
  void queued(const RankProgram::Job& job, std::int64_t id) {
    const auto forEachSent = [&](const auto& what) {
      for (const RankProgram::Places& places : job.places) {
        for (const RankProgram::Place& place : places.outputs) {
          if (place.transfer != RankProgram::kNone) what(place.transfer);
        }
      }
    };
    // The sends' marks come first: nobody receives a message before it is sent.
    forEachSent([&](int transfer) {
      messages_.made(transfer, step_, id, outgoing_[static_cast<std::size_t>(transfer)]);
    });
    const std::shared_ptr<const DeviceEvent> end = device_->record();
    forEachSent([&](int transfer) { outgoing_[static_cast<std::size_t>(transfer)].made = end; });
    device_->queued(end, numberOfNext());
  }

  /// Says that the job needs its activations no longer.
  void acknowledge(const RankProgram::Job& job) {
    if (program_.credits == 0 || job.credit == RankProgram::kNone) return;
    messages_.acknowledge(job.credit);
  }

  /// The id of the job that makes or needs the message.
  std::int64_t idOf(int transfer) const {
    const int job = program_.transfers[static_cast<std::size_t>(transfer)].job;
    return ids_[static_cast<std::size_t>(job)];
  }

  void post(int transfer) { messages_.post(transfer, step_, idOf(transfer)); }

  void send(int transfer) {
    const auto at = static_cast<std::size_t>(transfer);
    messages_.send(transfer, step_, idOf(transfer), std::exchange(outgoing_[at], {}));
  }

  std::int64_t nextId() {
    return streams_.recorder != nullptr ? streams_.recorder->nextJobId() : kNotGiven;
  }

  template <typename Body>
  void guarded(Body body) {
    try {
      body();
    } catch (...) {
      giveUp();
      throw;
    }
  }

  // All ranks agree on what ended the run before this one wakes its peers.
  void giveUp() {
    if (control_ == nullptr) {
      transport_.abort(errorText(std::current_exception()));
      return;
    }
    try {
      reportFailure(*control_);
    } catch (const RunFailed& failed) {
      transport_.abort(failed.what());
      control_->whileEnding([&] { work_.abandon(); });
      throw;
    }
  }

  void flushRecorder() noexcept {
    if (streams_.recorder == nullptr) return;
    try {
      streams_.recorder->flush();
    } catch (...) {  // close() reports what could not be written
    }
  }

  const int rank_;
  int stepsBefore_ = 0;  // RecordedStreams::stepsBefore
  StageWork& work_;
  PlannedTransfers* const planned_;
  RankDevice* const device_;
  Transport& transport_;
  const RecordedStreams streams_;
  const RankProgram program_;
  ControlChannel* const control_;
  RankMessages messages_;
  GradientSums sums_;
  ScalarAllReduce scalarAllReduce_;
  std::array<std::vector<Message>, 2> inputs_;  // of the job that runs: forward, backward part
  std::array<std::vector<Message>, 2> outputs_;
  std::vector<Message> outgoing_;   // by transfer: made and not sent yet
  std::vector<Message> kept_;       // from a stage to another one of this rank
  std::vector<std::int64_t> ids_;   // by job, of this step
  std::vector<const char*> texts_;  // by job: the recorder's own, which its log thread reads
  std::size_t next_ = 0;            // item
  bool finished_ = false;
  int step_ = kNotGiven;
  Nanoseconds computed_ = 0;
};

Executor::Executor(CheckedPlan plan, StageWork& work, Transport& transport, RecordedStreams streams,
                   ExecutorOptions options)
    : impl_(std::make_unique<Impl>(plan, work, transport, streams, options)) {}

Executor::~Executor() = default;

void Executor::runStep(int step, int number) { impl_->runStep(step, number); }

Nanoseconds Executor::computed() const { return impl_->computed(); }

void Executor::pause() { impl_->pause(); }

void Executor::end() { impl_->endPlan(); }

void Executor::finish() { impl_->finish(); }

}  // namespace pipetrace
