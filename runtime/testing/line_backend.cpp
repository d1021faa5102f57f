#include "runtime/testing/line_backend.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/lanes/message_header.h"
#include "runtime/testing/device/test_device.h"
#include "runtime/transport/message.h"

namespace pipetrace::testing {
namespace {

using c10::impl::VirtualGuardImpl;

/// A send or a receive. `issued` and `ended` are points of streams.
struct LineOperation {
  bool sends = false;
  int rank = 0;
  int peer = 0;
  int tag = 0;
  at::Tensor tensor;
  std::shared_ptr<DeviceEvent> issued;
  std::shared_ptr<DeviceEvent> ended;  // null: it has not run
  c10::Device device = c10::kCPU;
};

using OperationPtr = std::shared_ptr<LineOperation>;

std::string textOf(const LineOperation& operation) {
  return "rank " + std::to_string(operation.rank) +
         (operation.sends ? " sends to rank " : " receives from rank ") +
         std::to_string(operation.peer) + " " + toText(shapeOf(Message{operation.tensor})) +
         " with tag " + std::to_string(operation.tag);
}

}  // namespace

struct LineHub::State {
  explicit State(int ranks) : lines(static_cast<std::size_t>(ranks)) {}

  /// The operations that a rank has issued and that have not run, and the stream for them.
  struct Line {
    std::deque<OperationPtr> operations;
    std::optional<c10::Stream> stream;
    std::vector<c10::Stream> waiting;  // streams of the rank
    bool isAborted = false;
  };

  Line& of(int rank) { return lines.at(static_cast<std::size_t>(rank)); }
  LineOperation* firstOf(int rank) {
    Line& line = of(rank);
    return line.operations.empty() ? nullptr : line.operations.front().get();
  }

  void requireGood(int rank) {
    TORCH_CHECK(failure.empty(), failure);
    if (of(rank).isAborted) C10_THROW_ERROR(DistBackendError, "the communicator was aborted");
  }

  void issue(const OperationPtr& operation) {
    const std::lock_guard lock(mutex);
    requireGood(operation->rank);
    Line& line = of(operation->rank);
    if (!line.stream) {
      line.stream = VirtualGuardImpl(operation->device.type())
                        .getStreamFromGlobalPool(operation->device, /*isHighPriority=*/true);
    }
    line.operations.push_back(operation);
    advance();
    changed.notify_all();
    requireGood(operation->rank);
  }

  bool hasEnded(const LineOperation& operation) {
    const std::lock_guard lock(mutex);
    return operation.ended != nullptr;
  }
  bool isOver(const LineOperation& operation) {
    const std::lock_guard lock(mutex);
    return operation.ended != nullptr || of(operation.rank).isAborted;
  }

  /// The stream waits for the operation that isOver(), which does not change then. Without the
  /// lock, which moves hold while they use the device.
  void block(const LineOperation& operation, c10::Stream stream) {
    if (operation.ended) return operation.ended->block(stream);
    DeviceEvent(*of(operation.rank).stream).block(stream);
  }
  void waits(int rank, c10::Stream stream) {
    const std::lock_guard lock(mutex);
    std::vector<c10::Stream>& all = of(rank).waiting;
    if (std::find(all.begin(), all.end(), stream) == all.end()) all.push_back(stream);
  }

  void await(const LineOperation& operation) {
    std::unique_lock lock(mutex);
    const bool isOver = changed.wait_for(lock, std::chrono::seconds(30), [&] {
      return operation.ended || !failure.empty() || of(operation.rank).isAborted;
    });
    requireGood(operation.rank);
    TORCH_CHECK(isOver, "nothing has moved for 30 s: ", textOf(operation));
  }

  void advance() {
    for (bool hasMoved = true; hasMoved && failure.empty();) {
      hasMoved = false;
      for (int rank = 0; rank < static_cast<int>(lines.size()); ++rank) {
        LineOperation* const send = firstOf(rank);
        if (send == nullptr || !send->sends) continue;
        LineOperation* const receive = firstOf(send->peer);
        if (receive == nullptr || receive->sends || receive->peer != rank) continue;
        if (!move(*send, *receive)) return;
        of(rank).operations.pop_front();
        of(send->peer).operations.pop_front();
        ++moved;
        hasMoved = true;
      }
    }
    findCircle();
  }

  /// Ranks whose first operations wait for each other will do so for ever.
  void findCircle() {
    for (int start = 0; start < static_cast<int>(lines.size()) && failure.empty(); ++start) {
      std::vector<bool> isSeen(lines.size());
      std::string text;
      int rank = start;
      while (firstOf(rank) != nullptr && !isSeen[static_cast<std::size_t>(rank)]) {
        isSeen[static_cast<std::size_t>(rank)] = true;
        text += (text.empty() ? "" : ", ") + textOf(*firstOf(rank));
        rank = firstOf(rank)->peer;
      }
      if (firstOf(rank) != nullptr) failure = "deadlock in line: " + text;
    }
  }

  bool move(LineOperation& send, LineOperation& receive) {
    if (send.tag != receive.tag || send.tensor.sizes() != receive.tensor.sizes() ||
        send.tensor.scalar_type() != receive.tensor.scalar_type()) {
      failure = "the two ends do not agree: " + textOf(send) + ", " + textOf(receive);
      return false;
    }
    const c10::Stream source = *of(send.rank).stream;
    const c10::Stream target = *of(receive.rank).stream;
    send.issued->block(source);
    receive.issued->block(target);
    const auto meet = [&] {
      const DeviceEvent ofSource(source);
      const DeviceEvent ofTarget(target);
      ofSource.block(target);
      ofTarget.block(source);
    };
    meet();
    {
      const at::NoGradGuard noGrad;
      const c10::StreamGuard onSource(source);
      const c10::StreamGuard onTarget(target);
      receive.tensor.copy_(send.tensor, /*non_blocking=*/true);
    }
    meet();
    // As with NCCL's, whoever issued a work may let go of it.
    send.tensor.record_stream(source);
    if (target.device() == send.tensor.device()) send.tensor.record_stream(target);
    receive.tensor.record_stream(target);
    receive.tensor.record_stream(source);
    send.ended = std::make_shared<DeviceEvent>(source);
    receive.ended = std::make_shared<DeviceEvent>(target);
    send.tensor = receive.tensor = at::Tensor();
    return true;
  }

  std::recursive_mutex mutex;  // an operation may stand behind others of its line
  std::condition_variable_any changed;
  std::vector<Line> lines;  // by rank
  std::string failure;
  std::int64_t moved = 0;
};

namespace {

class LineWork : public c10d::Work {
 public:
  LineWork(std::shared_ptr<LineHub::State> state, OperationPtr operation)
      : state_(std::move(state)), operation_(std::move(operation)) {}

  bool isCompleted() override { return state_->hasEnded(*operation_); }
  bool wait(std::chrono::milliseconds /*timeout*/) override {
    const c10::Device device = operation_->device;
    const c10::Stream current = VirtualGuardImpl(device.type()).getStream(device);
    state_->waits(operation_->rank, current);
    blockLater(current,
               {.isThere = [state = state_, of = operation_] { return state->isOver(*of); },
                .await = [state = state_, of = operation_] { state->await(*of); },
                .block = [state = state_,
                          of = operation_](c10::Stream stream) { state->block(*of, stream); }});
    return true;
  }

 private:
  const std::shared_ptr<LineHub::State> state_;
  const OperationPtr operation_;
};

class LineBackend : public c10d::Backend {
 public:
  LineBackend(std::shared_ptr<LineHub::State> state, int rank, int size)
      : Backend(rank, size), state_(std::move(state)) {}

  const std::string getBackendName() const override { return "line"; }

  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override {
    return add(true, tensors, to, tag);
  }
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from,
                                      int tag) override {
    return add(false, tensors, from, tag);
  }

  void startCoalescing() override {
    TORCH_CHECK(!isCoalescing_, "coalescing has begun already");
    isCoalescing_ = true;
  }
  c10::intrusive_ptr<c10d::Work> endCoalescing() override {
    TORCH_CHECK(isCoalescing_ && operation_, "there is no operation to coalesce");
    isCoalescing_ = false;
    const OperationPtr operation = std::exchange(operation_, nullptr);
    state_->issue(operation);
    return c10::make_intrusive<LineWork>(state_, operation);
  }

  void abort() override {
    std::vector<c10::Stream> waiting;
    {
      const std::lock_guard lock(state_->mutex);
      state_->of(rank_).isAborted = true;
      state_->of(rank_).operations.clear();
      waiting = state_->of(rank_).waiting;
      state_->changed.notify_all();
    }
    for (const c10::Stream& stream : waiting) static_cast<void>(stream.query());  // it goes on
  }

 private:
  c10::intrusive_ptr<c10d::Work> add(bool sends, const std::vector<at::Tensor>& tensors, int peer,
                                     int tag) {
    TORCH_CHECK(isCoalescing_ && !operation_,
                "c10d would make a communicator of its own for ranks ", rank_, " and ", peer);
    TORCH_CHECK(tensors.size() == 1 && tensors[0].is_contiguous(), "one contiguous tensor goes");
    const c10::Device device = tensors[0].device();
    operation_ = std::make_shared<LineOperation>(LineOperation{
        .sends = sends,
        .rank = rank_,
        .peer = peer,
        .tag = tag,
        .tensor = tensors[0],
        .issued = std::make_shared<DeviceEvent>(VirtualGuardImpl(device.type()).getStream(device)),
        .device = device});
    return nullptr;
  }

  const std::shared_ptr<LineHub::State> state_;
  bool isCoalescing_ = false;
  OperationPtr operation_;
};

}  // namespace

LineHub::LineHub(int ranks) : state_(std::make_shared<State>(ranks)) {}

c10::intrusive_ptr<c10d::Backend> LineHub::connect(int rank) const {
  return c10::make_intrusive<LineBackend>(state_, rank, static_cast<int>(state_->lines.size()));
}

std::int64_t LineHub::moved() const {
  const std::lock_guard lock(state_->mutex);
  return state_->moved;
}

}  // namespace pipetrace::testing
