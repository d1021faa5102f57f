#include "runtime/executor.h"

#include <c10/util/Exception.h>

#include <exception>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/planned_jobs.h"
#include "runtime/transport/transfer_lane.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

std::string textOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {  // what() would add a backtrace
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace

class Executor::Impl {
 public:
  Impl(CheckedPlan plan, StageWork& work, Transport& transport, RecordedLanes lanes)
      : plan_(std::move(plan)),
        rank_(transport.rank()),
        work_(work),
        transport_(transport),
        lanes_(lanes) {
    if (plan_->numRanks() != transport.worldSize()) {
      throw Error("the plan " + plan_->name + " is for " + std::to_string(plan_->numRanks()) +
                  " ranks, but " + std::to_string(transport.worldSize()) + " run");
    }
    jobs_ = plannedJobs(*plan_, rank_);
    receives_.resize(jobs_.size());
    ids_.resize(jobs_.size(), kNotGiven);
  }

  ~Impl() {
    // Wakes the lanes, which otherwise might wait for a peer for as long as the transport allows.
    if (!finished_) transport_.abort("rank " + std::to_string(rank_) + " ended early");
    recvLane_.reset();
    sendLane_.reset();
    flushRecorder();
  }

  void runStep(int step) {
    guarded([&] { runStepUnguarded(step); });
  }

  void finish() {
    guarded([&] {
      awaitSends(sends_);
      transport_.finish();
    });
    finished_ = true;
  }

 private:
  void runStepUnguarded(int step) {
    std::vector<std::future<Message>> earlierSends = std::exchange(sends_, {});
    step_ = step;
    const std::int64_t lrId = nextId();
    for (std::int64_t& id : ids_) id = nextId();

    postReceive(0);
    runEdge(JobKind::kLr, lrId, [&] { work_.lr(step_); });
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      postReceive(i + 1);
      runJob(i);
    }
    runEdge(JobKind::kOptimizer, nextId(), [&] { work_.optimizerStep(); });
    if (lanes_.recorder != nullptr) {
      if (const auto loss = work_.loss()) lanes_.recorder->counter("loss", *loss);
      lanes_.recorder->endStep(step_);
    }
    // Peers needed all of these messages before this step could end there, so this hardly waits.
    awaitSends(earlierSends);
  }

  // lr and optimizer: the jobs at a step's edges.
  template <typename Body>
  void runEdge(JobKind kind, std::int64_t id, Body body) {
    record(lanes_.compute, {.kind = kind, .microBatch = 0, .step = step_, .id = id}, [&] {
      body();
      return std::int64_t{kNotGiven};
    });
  }

  void runJob(std::size_t index) {
    const PlannedJob& job = jobs_[index];
    Message input = takeInput(index);
    work_.launching(job.action, input);
    Message output;
    const Job recorded{.kind = job.action.kind,
                       .microBatch = job.action.microBatch,
                       .step = step_,
                       .stage = job.action.stage,
                       .chunk = job.chunk,
                       .id = ids_[index],
                       .action = job.text.c_str()};
    record(lanes_.compute, recorded, [&] {
      const auto run =
          job.action.kind == JobKind::kForward ? &StageWork::forward : &StageWork::backward;
      output = (work_.*run)(job.action.stage, job.action.microBatch, std::move(input));
      if (work_.runsBehind()) {
        handOver(index, std::move(output));
        work_.awaitJob();
      }
      return std::int64_t{kNotGiven};
    });
    if (!work_.runsBehind()) handOver(index, std::move(output));
  }

  void postReceive(std::size_t index) {
    if (index >= jobs_.size()) return;
    const MessageEnd& from = jobs_[index].input;
    if (!from.exists() || from.rank == rank_) return;
    const MessageKey key = keyNow(from);
    const Job recorded = transferJob(index, from, false);
    receives_[index] = recvLane_->post([this, from, key, recorded] {
      Message message;
      record(lanes_.recv, recorded, [&] {
        message = transport_.recv(from.rank, key);
        work_.received(message, from.rank);
        return message.bytes();
      });
      return message;
    });
  }

  Message takeInput(std::size_t index) {
    const MessageEnd& from = jobs_[index].input;
    if (!from.exists()) return {};
    if (from.rank != rank_) return receives_[index].get();
    return std::move(kept_.extract(keyNow(from)).mapped());
  }

  void handOver(std::size_t index, Message output) {
    const MessageEnd& to = jobs_[index].output;
    if (!to.exists()) return;
    const MessageKey key = keyNow(to);
    if (to.rank == rank_) {
      kept_.emplace(key, std::move(output));
      return;
    }
    const Message stub{.deadline = output.deadline};
    Job recorded = transferJob(index, to, true);
    recorded.bytes = output.bytes();
    const DeviceStream::Mark issued = issuedAt(stub);
    // Issued here and now. If the lane issued it in its turn, a send could wait after one whose
    // receiver is itself waiting for this one.
    auto completion = transport_.send(to.rank, key, std::move(output));
    sends_.push_back(sendLane_->post(
        [this, recorded, stub, issued, receiver = to.rank, completion = std::move(completion)] {
          work_.sending(stub);
          record(lanes_.send, recorded, [&] {
            if (lanes_.recorder != nullptr) lanes_.recorder->beganAt(lanes_.send, issued);
            completion();
            work_.sent(stub, receiver);
            return recorded.bytes;
          });
          return Message{};
        }));
  }

  // When the transport gets the message, as a mark of the send lane.
  DeviceStream::Mark issuedAt(const Message& message) const {
    if (lanes_.recorder == nullptr) return 0;
    return work_.runsBehind() ? static_cast<DeviceStream::Mark>(message.deadline)
                              : lanes_.recorder->mark(lanes_.send);
  }

  Job transferJob(std::size_t index, const MessageEnd& end, bool isSend) const {
    return {.kind = transferKind(isSend, end.key.direction == Direction::kForward),
            .microBatch = jobs_[index].action.microBatch,
            .step = step_,
            .stage = jobs_[index].action.stage,
            .chunk = jobs_[index].chunk,
            .peer = end.rank,
            .id = ids_[index]};
  }

  // Runs `body`, which returns the bytes it moved, as a job of `stream`. A body that throws ends
  // its job as well: how long it waited in vain belongs into the log.
  template <typename Body>
  void record(StreamId stream, const Job& job, Body body) {
    if (lanes_.recorder == nullptr) {
      body();
      return;
    }
    JobTrack* const track = stream == lanes_.compute ? lanes_.track : nullptr;
    lanes_.recorder->begin(stream, job);
    if (track != nullptr) track->begin(job);
    std::int64_t bytes = kNotGiven;
    try {
      bytes = body();
    } catch (...) {
      if (track != nullptr) track->end();
      lanes_.recorder->end(stream);
      throw;
    }
    if (track != nullptr) track->end();
    lanes_.recorder->end(stream, bytes);
  }

  MessageKey keyNow(const MessageEnd& end) const {
    MessageKey key = end.key;
    key.step = step_;
    return key;
  }

  std::int64_t nextId() {
    return lanes_.recorder != nullptr ? lanes_.recorder->nextJobId() : kNotGiven;
  }

  static void awaitSends(std::vector<std::future<Message>>& sends) {
    for (auto& send : std::exchange(sends, {})) send.get();
  }

  template <typename Body>
  void guarded(Body body) {
    try {
      body();
    } catch (...) {
      transport_.abort(textOf(std::current_exception()));
      throw;
    }
  }

  // The recorder's log thread reads the actions' texts, which end with this object.
  void flushRecorder() noexcept {
    if (lanes_.recorder == nullptr) return;
    try {
      lanes_.recorder->flush();
    } catch (...) {
      // close() reports what could not be written.
    }
  }

  const CheckedPlan plan_;
  const int rank_;
  StageWork& work_;
  Transport& transport_;
  const RecordedLanes lanes_;
  std::vector<PlannedJob> jobs_;
  std::vector<std::int64_t> ids_;               // by job, of this step
  std::vector<std::future<Message>> receives_;  // by job
  std::vector<std::future<Message>> sends_;     // not yet waited for
  std::map<MessageKey, Message> kept_;          // from a stage to another one of this rank
  int step_ = kNotGiven;
  bool finished_ = false;
  std::unique_ptr<TransferLane> sendLane_ = std::make_unique<TransferLane>();
  std::unique_ptr<TransferLane> recvLane_ = std::make_unique<TransferLane>();
};

Executor::Executor(CheckedPlan plan, StageWork& work, Transport& transport, RecordedLanes lanes)
    : impl_(std::make_unique<Impl>(std::move(plan), work, transport, lanes)) {}

Executor::~Executor() = default;

void Executor::runStep(int step) { impl_->runStep(step); }

void Executor::finish() { impl_->finish(); }

}  // namespace pipetrace
