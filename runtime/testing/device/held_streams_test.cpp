// A stream that waits for what nobody has enqueued yet.
#include <ATen/ops/add.h>
#include <ATen/ops/full.h>

#include <atomic>
#include <thread>

#include "profiler/cuda/device.h"
#include "profiler/cuda/stream.h"
#include "runtime/device/rank_device.h"
#include "runtime/testing/device/simulated_cuda.h"
#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using testing::DeviceTest;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::onTestDevice;

class HeldStreamsTest : public DeviceTest {
 protected:
  /// Makes `second_` wait for an event of `first_` that comes later.
  void holdSecond() {
    blockLater(second_, {.isThere = [this] { return event_.load() != nullptr; },
                         .await =
                             [this] {
                               for (; event_.load() == nullptr; std::this_thread::yield()) {
                                 isAwaited_ = true;
                               }
                             },
                         .block = [this](c10::Stream stream) { event_.load()->block(stream); }});
  }
  void record() { event_ = (event_.load() == nullptr ? &kept_.emplace(first_) : event_.load()); }
  at::Tensor write() {
    const c10::StreamGuard guard(first_);
    return at::full({2}, 7, onTestDevice());
  }
  void read(const at::Tensor& tensor) {
    const c10::StreamGuard guard(second_);
    tensor.add(1);
  }

  c10::Stream first_ = (installTestDevice(), nextDeviceStream());
  c10::Stream second_ = nextDeviceStream();
  std::optional<DeviceEvent> kept_;
  std::atomic<DeviceEvent*> event_ = nullptr;
  std::atomic<bool> isAwaited_ = false;
};

TEST_F(HeldStreamsTest, TheHostGoesOnUntilTheStreamGetsWork) {
  holdSecond();
  const DeviceEvent later(second_);
  EXPECT_FALSE(later.hasPassed());
  EXPECT_FALSE(second_.query());
  EXPECT_FALSE(isAwaited_);
  const at::Tensor tensor = write();
  record();
  EXPECT_TRUE(later.hasPassed());
  read(tensor);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(HeldStreamsTest, WorkOnTheStreamWaitsOnTheHost) {
  holdSecond();
  const at::Tensor tensor = write();
  std::thread other([&] {
    while (!isAwaited_) std::this_thread::yield();
    record();
  });
  read(tensor);
  other.join();
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(HeldStreamsTest, AnEventThatWasRecordedBeforeTheWaitSaysNothingOfIt) {
  const DeviceEvent before(second_);
  holdSecond();
  const at::Tensor tensor = write();
  record();
  const c10::Stream third = nextDeviceStream();
  before.block(third);
  {
    const c10::StreamGuard guard(third);
    tensor.add(1);
  }
  EXPECT_THAT(takeTestDeviceFindings(), Not(IsEmpty()));
}

TEST_F(HeldStreamsTest, AnEventAfterItBringsAllThatCameBefore) {
  holdSecond();
  const DeviceEvent after(second_);
  const at::Tensor tensor = write();
  record();
  const c10::Stream third = nextDeviceStream();
  after.block(third);
  {
    const c10::StreamGuard guard(third);
    tensor.add(1);
  }
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(HeldStreamsTest, AnEventWaitsOnlyForWhatStandsBeforeIt) {
  holdSecond();
  const DeviceEvent between(second_);
  blockLater(second_, {.isThere = [] { return false; },
                       .await = [] { FAIL() << "nothing before the event"; },
                       .block = [](c10::Stream) {}});
  record();
  between.synchronize();
}

TEST_F(HeldStreamsTest, ARecorderFindsTheTimeAtWhichTheWaitEnded) {
  const testing::SimulatedCuda simulated;
  FakeCuda& cuda = *simulated.cuda();
  const auto held = static_cast<FakeCuda::Stream>(second_.native_handle());
  holdSecond();
  const auto mark = cuda.createEvent();
  ASSERT_EQ(cuda.record(mark, held), CudaApi::Status::kOk);
  constexpr Nanoseconds kLong = 3 * kNsPerMs;
  cuda.work(static_cast<FakeCuda::Stream>(first_.native_handle()), kLong);
  EXPECT_EQ(cuda.query(mark), CudaApi::Status::kNotReady);
  record();
  EXPECT_EQ(cuda.query(mark), CudaApi::Status::kNotReady);
  second_.synchronize();
  EXPECT_EQ(cuda.lastRecordAt(held),
            cuda.doneAt(static_cast<FakeCuda::Stream>(first_.native_handle())));
}

}  // namespace
}  // namespace pipetrace
