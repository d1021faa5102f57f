// Two ranks, each a thread with streams of its own, that pass tensors and gradients.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using testing::DeviceTest;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::onTestDevice;
using ::testing::SizeIs;
using testing::TokenQueue;

/// The things that a program forgets.
struct Mistakes {
  bool receivesTooEarly = false;   ///< of message 1: its stream does not wait for the sender's
  bool recordsNoSent = false;      ///< record_stream of what another rank's stream copies
  bool recordsNoReceived = false;  ///< record_stream of what compute uses after the receive
  bool usesGradientTooEarly = false;
};

struct Packet {
  at::Tensor tensor;
  std::shared_ptr<c10::Event> ready;
};

/// One rank: a matrix of weights, a stream to compute on and one to receive on.
class Rank {
 public:
  Rank(int number, const Mistakes& mistakes)
      : mistakes_(mistakes), name_("rank " + std::to_string(number) + " ") {
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
    weights_ = at::randn({8, 8}).to(testDevice()).requires_grad_();
  }

  Packet packet(const at::Tensor& tensor) const {
    auto ready = std::make_shared<c10::Event>(c10::kPrivateUse1);
    ready->record(compute_);
    return {tensor, std::move(ready)};
  }

  at::Tensor receive(Packet packet, bool waitsForSender, bool waitsOnCompute) {
    const DeviceLabel label(name_ + "receive");
    at::Tensor received;
    {
      const c10::StreamGuard guard(receive_);
      if (waitsForSender) packet.ready->block(receive_);
      received = at::empty_like(packet.tensor);
      received.copy_(packet.tensor);
    }
    if (!mistakes_.recordsNoSent) packet.tensor.record_stream(receive_);
    packet.tensor.reset();
    c10::Event done(c10::kPrivateUse1);
    done.record(receive_);
    if (waitsOnCompute) done.block(compute_);
    if (!mistakes_.recordsNoReceived) received.record_stream(compute_);
    return received;
  }

  at::Tensor forward(const at::Tensor& input) {
    const DeviceLabel label(name_ + "forward");
    return input.mm(weights_).relu();
  }
  void update() {
    const DeviceLabel label(name_ + "optimizer");
    weights_.data().add_(weights_.grad(), -0.1);
    compute_.synchronize();
  }
  const c10::Stream& compute() const { return compute_; }
  const std::string& name() const { return name_; }

 private:
  const Mistakes mistakes_;
  const std::string name_;
  const c10::Stream compute_ = nextDeviceStream();
  const c10::Stream receive_ = nextDeviceStream();
  const c10::StreamGuard guard_{compute_};
  at::Tensor weights_;
};

constexpr int kMicroBatches = 3;

void runFirst(const Mistakes& mistakes, TokenQueue<Packet>& out, TokenQueue<Packet>& in) {
  Rank rank(0, mistakes);
  std::vector<at::Tensor> outputs;
  for (int i = 0; i < kMicroBatches; ++i) {
    outputs.push_back(rank.forward(at::randn({4, 8}).to(testDevice())));
    out.push(rank.packet(outputs.back().detach()));
  }
  for (at::Tensor& output : outputs) {
    const at::Tensor gradient = rank.receive(in.pop(), true, !mistakes.usesGradientTooEarly);
    const DeviceLabel label(rank.name() + "backward");
    output.backward(gradient);
    output.reset();
  }
  rank.update();
}

void runSecond(const Mistakes& mistakes, TokenQueue<Packet>& out, TokenQueue<Packet>& in) {
  Rank rank(1, mistakes);
  for (int i = 0; i < kMicroBatches; ++i) {
    const at::Tensor input = rank.receive(in.pop(), i != 1 || !mistakes.receivesTooEarly, true);
    input.requires_grad_();
    const at::Tensor output = rank.forward(input);
    const DeviceLabel label(rank.name() + "backward");
    at::mse_loss(output, at::zeros({4, 8}, onTestDevice())).backward();
    out.push(rank.packet(input.grad()));
  }
  rank.update();
}

class RankThreadsTest : public DeviceTest {
 protected:
  static std::vector<std::string> findingsOf(const Mistakes& mistakes) {
    resetTestDevice();
    TokenQueue<Packet> forward;
    TokenQueue<Packet> backward;
    {
      const std::jthread first([&] { runFirst(mistakes, forward, backward); });
      const std::jthread second([&] { runSecond(mistakes, backward, forward); });
    }
    return takeTestDeviceFindings();
  }
};

TEST_F(RankThreadsTest, MissingWaitIsFoundInEachOfFiftyRuns) {
  for (int run = 0; run < 50; ++run) {
    ASSERT_THAT(findingsOf({.receivesTooEarly = true}),
                ElementsAre(AllOf(HasSubstr("aten::copy_ [rank 1 receive] on test:0 stream "),
                                  HasSubstr("which aten::relu [rank 0 forward] on test:0 stream "),
                                  HasSubstr(" wrote as Float [4, 8]"))));
  }
}

TEST_F(RankThreadsTest, NothingIsFoundInFiftyRunsOfTheRightProgram) {
  for (int run = 0; run < 50; ++run) ASSERT_THAT(findingsOf({}), IsEmpty());
}

TEST_F(RankThreadsTest, GradientThatIsUsedTooEarlyIsFound) {
  for (int run = 0; run < 20; ++run) {
    const auto findings = findingsOf({.usesGradientTooEarly = true});
    ASSERT_THAT(findings, SizeIs(kMicroBatches));
    ASSERT_THAT(findings, Each(AllOf(HasSubstr("[rank 0 backward]"),
                                     HasSubstr("aten::copy_ [rank 0 receive]"))));
  }
}

TEST_F(RankThreadsTest, SentTensorWithoutRecordStreamIsFound) {
  EXPECT_THAT(findingsOf({.recordsNoSent = true}),
              Each(AllOf(HasSubstr("is freed while aten::copy_ [rank"),
                         HasSubstr("may still read Float [4, 8]"))));
  EXPECT_FALSE(findingsOf({.recordsNoSent = true}).empty());
}

TEST_F(RankThreadsTest, ReceivedTensorWithoutRecordStreamIsFound) {
  const auto findings = findingsOf({.recordsNoReceived = true});
  EXPECT_FALSE(findings.empty());
  EXPECT_THAT(findings, Each(HasSubstr("is freed while")));
}

}  // namespace
}  // namespace pipetrace
