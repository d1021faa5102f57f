#include "runtime/testing/device/host_side.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using testing::DeviceTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::makeWait;
using testing::onTestDevice;
using testing::Worker;

class HostSideTest : public DeviceTest {
 protected:
  static at::Tensor pinned() {
    return at::empty({8}, c10::TensorOptions().pinned_memory(true)).fill_(0);
  }
  /// Sends ones to the host, and gives the event after that.
  c10::Event send(const at::Tensor& host) const {
    const c10::StreamGuard guard(stream_);
    host.copy_(at::ones({8}, onTestDevice()), /*non_blocking=*/true);
    c10::Event sent(c10::kPrivateUse1);
    sent.record(stream_);
    return sent;
  }

  c10::Stream stream_ = (installTestDevice(), nextDeviceStream());
};

TEST_F(HostSideTest, CopyToPinnedMemoryIsSeenAfterAWait) {
  const at::Tensor host = pinned();
  ASSERT_TRUE(host.is_pinned());
  const c10::Event sent = send(host);
  EXPECT_NE(host.data_ptr<float>()[0], 1.0F) << "the host reads before it waits";
  sent.synchronize();
  hostReads(host);
  EXPECT_EQ(host.data_ptr<float>()[7], 1.0F);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(HostSideTest, ReadOfPinnedMemoryBeforeAWaitIsFound) {
  const at::Tensor host = pinned();
  const c10::Event sent = send(host);
  hostReads(host);
  EXPECT_THAT(takeTestDeviceFindings(),
              ElementsAre(HasSubstr("a read on host thread 1 reads Float [8], which aten::copy_")));
}

TEST_F(HostSideTest, CpuOperatorsAreReadsAndWritesWhileWatched) {
  const at::Tensor host = pinned();
  watchCpuOperators();
  send(host);
  host.sum();
  EXPECT_THAT(takeTestDeviceFindings(), ElementsAre(HasSubstr("aten::sum on host thread 1 reads")));
  send(host);
  at::cat({host, at::ones({1})});
  EXPECT_THAT(takeTestDeviceFindings(), ElementsAre(HasSubstr("aten::cat on host thread 1 reads")));
  send(host).synchronize();
  EXPECT_EQ(host.sum().item<float>(), 8.0F);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
  resetTestDevice();
  send(host);
  host.sum();
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty()) << "the watch ends with a reset";
}

TEST_F(HostSideTest, OverwritingWhatAStreamStillReadsIsFound) {
  const at::Tensor host = pinned();
  const at::Tensor target = at::empty({8}, onTestDevice());
  watchCpuOperators();
  target.copy_(host, /*non_blocking=*/true);
  host.fill_(2);
  EXPECT_THAT(takeTestDeviceFindings(), ElementsAre(HasSubstr("aten::fill_ on host thread 1")));
}

TEST_F(HostSideTest, StreamSeesWhatAnotherOneBroughtToTheHost) {
  const at::Tensor host = pinned();
  const c10::Event sent = send(host);
  const c10::Stream other = nextDeviceStream();
  sent.block(other);
  const c10::StreamGuard guard(other);
  at::Tensor back = at::empty({8}, onTestDevice());
  back.copy_(host, /*non_blocking=*/true);
  EXPECT_EQ(back.sum().item<float>(), 8.0F);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(HostSideTest, SecondCopyToTheSameMemoryWins) {
  const at::Tensor host = pinned();
  send(host);
  const c10::StreamGuard guard(stream_);
  host.copy_(at::ones({8}, onTestDevice()).mul(3));
  EXPECT_EQ(host.data_ptr<float>()[0], 3.0F);
}

TEST_F(HostSideTest, WaitsAreCountedByKind) {
  const at::Tensor ones = at::ones({8}, onTestDevice());
  const at::Tensor host = at::empty({8});
  const at::Tensor locked = pinned();
  resetHostWaits();
  c10::Event event(c10::kPrivateUse1);
  event.record(stream_);
  event.block(stream_);
  event.query();
  stream_.query();
  at::Tensor(ones).add_(1);
  locked.copy_(ones, true);
  at::Tensor(ones).copy_(locked, true);
  EXPECT_EQ(hostWaits().total(), 0) << "none of these waits";

  event.synchronize();
  stream_.synchronize();
  stream_.synchronize();
  c10::impl::VirtualGuardImpl(c10::kPrivateUse1).synchronizeDevice(0);
  c10::getDeviceAllocator(c10::kPrivateUse1)->emptyCache();
  EXPECT_EQ(hostWaits().events, 1);
  EXPECT_EQ(hostWaits().streams, 2);
  EXPECT_EQ(hostWaits().devices, 2);

  const std::vector<std::function<void()>> copies{
      [&] { ones.sum().item<float>(); },
      [&] { host.copy_(ones); },
      [&] { host.copy_(ones, true); },  // its memory is not pinned
      [&] { at::Tensor(ones).copy_(host); },
      [&] { at::Tensor(ones).copy_(host, true); },
      [&] { locked.copy_(ones); },
      [&] { ones.equal(ones); },
      [&] { at::nonzero(ones); },
      [&] { ones.index({ones.gt(0)}); }};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    resetHostWaits();
    copies[i]();
    EXPECT_EQ(hostWaits().copies, 1) << "case " << i;
    EXPECT_EQ(hostWaits().total(), 1) << "case " << i;
  }
}

TEST_F(HostSideTest, WaitsAreCountedByThread) {
  std::thread::id other;
  std::thread([&] {
    other = std::this_thread::get_id();
    stream_.synchronize();
    stream_.synchronize();
  }).join();
  stream_.synchronize();
  EXPECT_EQ(hostWaits().streams, 3);
  EXPECT_EQ(hostWaitsOf(other).streams, 2);
  EXPECT_EQ(hostWaitsOf(std::this_thread::get_id()).streams, 1);
  resetHostWaits();
  EXPECT_EQ(hostWaits().total(), 0);
}

TEST_F(HostSideTest, WaitOfAnotherThreadCountsAfterItsToken) {
  for (const bool carriesToken : {true, false}) {
    resetTestDevice();
    Worker worker;
    at::Tensor tensor;
    {
      const c10::StreamGuard guard(stream_);
      tensor = at::ones({8}, onTestDevice());
    }
    HostToken token;
    worker.run([&] {
      stream_.synchronize();
      token = HostToken::release();
    });
    if (carriesToken) token.acquire();
    const c10::StreamGuard guard(nextDeviceStream());
    tensor.add_(1);
    EXPECT_EQ(takeTestDeviceFindings().size(), carriesToken ? 0u : 1u);
  }
}

TEST_F(HostSideTest, MissingWaitForAnotherThreadsWorkIsFoundOnce) {
  Worker worker;
  std::vector<at::Tensor> tensors;
  HostToken token;
  worker.run([&] {
    const c10::StreamGuard guard(stream_);
    for (int i = 0; i < 3; ++i) tensors.push_back(at::ones({8}, onTestDevice()));
    token = HostToken::release();
  });
  token.acquire();
  const c10::StreamGuard guard(nextDeviceStream());
  for (const at::Tensor& tensor : tensors) tensor.add(1);
  EXPECT_EQ(takeTestDeviceFindings().size(), 1u);
}

}  // namespace
}  // namespace pipetrace
