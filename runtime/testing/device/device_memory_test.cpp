#include "runtime/testing/device/device_memory.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <stdexcept>

#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using testing::DeviceTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::onTestDevice;
using ::testing::ThrowsMessage;

class DeviceMemoryTest : public DeviceTest {};

TEST_F(DeviceMemoryTest, BytesOfADeviceAreCounted) {
  const std::int64_t before = deviceBytes(2);
  EXPECT_EQ(peakDeviceBytes(2), before);
  at::Tensor a = at::ones({100}, onTestDevice(2));
  at::Tensor b = a.add(1);
  EXPECT_EQ(deviceBytes(2), before + 800);
  b.reset();
  EXPECT_EQ(deviceBytes(2), before + 400);
  EXPECT_EQ(peakDeviceBytes(2), before + 800);
  auto& allocator = *c10::getDeviceAllocator(c10::kPrivateUse1);
  EXPECT_EQ(allocator.getDeviceStats(2).allocated_bytes[0].current, before + 400);
  EXPECT_EQ(allocator.getDeviceStats(2).allocated_bytes[0].peak, before + 800);
  resetPeakDeviceBytes(2);
  EXPECT_EQ(peakDeviceBytes(2), before + 400);
  EXPECT_EQ(allocator.getDeviceStats(2).allocated_bytes[0].peak, before + 400);
  EXPECT_EQ(deviceBytes(3), 0);
}

TEST_F(DeviceMemoryTest, ResizedTensorKeepsItsNumbersAndIsCounted) {
  at::Tensor tensor = at::ones({10}, onTestDevice(3));
  tensor.resize_({100});
  EXPECT_EQ(deviceBytes(3), 400);
  EXPECT_EQ(tensor.storage().nbytes(), 400u);
  EXPECT_EQ(tensor.narrow(0, 0, 10).sum().item<float>(), 10.0F);
  at::Tensor out = at::empty({0}, onTestDevice(3));
  at::add_out(out, tensor.narrow(0, 0, 10), tensor.narrow(0, 0, 10));
  EXPECT_EQ(out.sum().item<float>(), 20.0F);
  EXPECT_EQ(deviceBytes(3), 440);
  tensor.reset();
  out.reset();
  EXPECT_EQ(deviceBytes(3), 0);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceMemoryTest, NewPartOfAResizedTensorIsChecked) {
  at::Tensor tensor = at::ones({10}, onTestDevice());
  tensor.resize_({100});
  tensor.fill_(2);
  const c10::StreamGuard guard(nextDeviceStream());
  tensor.narrow(0, 50, 50).add(1);
  EXPECT_THAT(takeTestDeviceFindings(), ElementsAre(HasSubstr("aten::fill_")));
}

TEST_F(DeviceMemoryTest, AllocationOverTheLimitThrows) {
  limitDeviceMemory(1, 1000);
  at::Tensor tensor = at::ones({200}, onTestDevice(1));
  const auto allocate = [] { at::empty({51}, onTestDevice(1)); };
  const auto calculate = [&] { tensor.add(1); };
  EXPECT_THAT(allocate, ThrowsMessage<c10::OutOfMemoryError>(HasSubstr("out of memory")));
  EXPECT_THAT(calculate, ThrowsMessage<c10::OutOfMemoryError>(HasSubstr("out of memory")));
  EXPECT_NO_THROW(at::ones({50}, onTestDevice(1)));
  EXPECT_NO_THROW(at::ones({500}, onTestDevice(0)));
  tensor.reset();
  EXPECT_NO_THROW(at::ones({250}, onTestDevice(1)));
  resetTestDevice();
  EXPECT_NO_THROW(at::ones({500}, onTestDevice(1)));
}

TEST_F(DeviceMemoryTest, HookMakesOperatorsFail) {
  const at::Tensor a = at::ones({2}, onTestDevice());
  failOperators([](const std::string& name, c10::Stream stream) {
    if (name == "aten::mul" && stream.device_index() == 0) throw std::runtime_error("CUDA error");
  });
  EXPECT_NO_THROW(a.add(1));
  EXPECT_THAT([&] { a.mul(2); }, ThrowsMessage<std::runtime_error>(HasSubstr("CUDA error")));
  failOperators([](const std::string& name, c10::Stream) {
    if (name == "aten::copy_") throw std::runtime_error("copy");
    if (name == "aten::item") throw std::runtime_error("item");
  });
  EXPECT_THAT([&] { a.cpu(); }, ThrowsMessage<std::runtime_error>(HasSubstr("copy")));
  EXPECT_THAT([&] { a[0].item<float>(); }, ThrowsMessage<std::runtime_error>(HasSubstr("item")));
  failOperators({});
  EXPECT_EQ(a.mul(2).sum().item<float>(), 4.0F) << "the device is as good as before";
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceMemoryTest, CpuTimesOfKernelsAreReportedWithTheirStreams) {
  const c10::Stream stream = nextDeviceStream();
  const c10::StreamGuard guard(stream);
  const at::Tensor a = at::ones({300, 300}, onTestDevice());
  std::vector<c10::Stream> streams;
  std::int64_t sum = 0;
  timeOperators([&](c10::Stream on, std::int64_t nanoseconds) {
    streams.push_back(on);
    sum += nanoseconds;
  });
  a.mm(a);
  a.cpu();
  timeOperators({});
  a.mm(a);
  EXPECT_THAT(streams, ElementsAre(stream, stream));
  EXPECT_GT(sum, 0);
}

}  // namespace
}  // namespace pipetrace
