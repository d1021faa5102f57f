// Fused pairs that nobody annotated, on CPUs: which messages they get, and when they run.
#include <gmock/gmock.h>

#include "parser/testing/read_chrome.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {
namespace {

using test::KinetoText;
using test::kinetoTimes;
using test::readKineto;
using testing::ElementsAre;

/// A host that runs forwards of three layers and backwards of them. An operator takes 90 us.
class PairingHost {
 public:
  PairingHost& forward(int layers = kLayers) {
    passes_.push_back(number_);
    for (int i = 0; i < layers; ++i) forwardLayer();
    return *this;
  }
  PairingHost& forwardLayer() {
    return add("aten::mm", ", \"Sequence number\": " + std::to_string(number_++));
  }
  PairingHost& backwardLayer(int pass, int layer) {
    return add("autograd::engine::evaluate_function: MmBackward0",
               ", \"Sequence number\": " +
                   std::to_string(passes_[static_cast<std::size_t>(pass)] + layer));
  }
  PairingHost& backward(int pass) {
    for (int layer = kLayers; layer-- > 0;) backwardLayer(pass, layer);
    return *this;
  }
  /// Two messages are sent, and two received.
  PairingHost& exchange() {
    text_.send({.posted = now_, .end = now_ + 70}).send({.posted = now_ + 10, .end = now_ + 70});
    return receive(now_ + 20, now_ + 80).receive(now_ + 30, now_ + 90).pass(100);
  }
  PairingHost& receive(std::int64_t posted, std::int64_t end) {
    text_.receive({.posted = posted, .end = end});
    return *this;
  }
  PairingHost& pass(std::int64_t time) {
    now_ += time;
    return *this;
  }
  /// The forward of a pass, layer by layer with the backward of another one.
  PairingHost& pair(int backward) {
    passes_.push_back(number_);
    for (int layer = 0; layer < kLayers; ++layer) {
      forwardLayer().backwardLayer(backward, kLayers - 1 - layer);
    }
    return *this;
  }
  /// The same, whose forward begins before the message of its backward is there.
  PairingHost& pairThatWaits(int backward) {
    passes_.push_back(number_);
    forwardLayer();
    receive(now_ - 150, now_ + 400).pass(400);
    backwardLayer(backward, 2).forwardLayer().backwardLayer(backward, 1).forwardLayer();
    return backwardLayer(backward, 0);
  }

  test::Reading read() const { return readKineto(text_); }
  std::int64_t now() const { return now_; }

 private:
  static constexpr int kLayers = 3;

  PairingHost& add(const std::string& name, const std::string& arguments) {
    text_.operation(name, {.begin = now_, .length = 90}, arguments);
    now_ += 100;
    return *this;
  }

  KinetoText text_;
  std::int64_t now_ = 1000;
  std::int64_t number_ = 50;
  std::vector<std::int64_t> passes_;
};

/// "forward 0: 10 to 20", a pair with the micro-batch of its backward behind that of its forward.
std::vector<std::string> jobsAndPairs(const test::Reading& r) {
  std::vector<std::string> list;
  for (const Event& event : r.events(0, kComputeLane)) {
    std::string text = std::string(logName(event.kind)) + " " + std::to_string(event.microBatch);
    for (const Argument& each : r.timeline.argumentsOf(event)) {
      if (r.timeline.strings[each.key] == kPairedMicroBatch)
        text += "+" + std::to_string(each.integer);
    }
    list.push_back(text + ": " + kinetoTimes(event));
  }
  return list;
}

/// How many messages of that lane each job has.
std::map<std::int64_t, int> messagesOfJobs(const test::Reading& r, std::string_view lane) {
  std::map<std::int64_t, int> counts;
  for (const Event& event : r.events(0, lane)) ++counts[event.job];
  return counts;
}

TEST(FoundPairs, PairNamesTheMicroBatchesOfBothHalves) {
  PairingHost host;
  host.forward().exchange().forward().exchange().pair(0).exchange().pair(1).exchange();
  host.backward(2).exchange().backward(3);
  EXPECT_THAT(
      jobsAndPairs(host.read()),
      ElementsAre("forward 0: 1000 to 1290", "forward 1: 1400 to 1690",
                  "forward_backward 2+0: 1800 to 2390", "forward_backward 3+1: 2500 to 3090",
                  "backward 2: 3200 to 3490", "backward 3: 3600 to 3890"));
}

TEST(FoundPairs, MessagesBeforeAPairAreItsOwnAndSoAreThoseSentBehindIt) {
  PairingHost host;
  host.forward().exchange().forward().exchange().pair(0).exchange().pair(1).exchange();
  host.backward(2).exchange().backward(3);
  const test::Reading r = host.read();
  const std::map<std::int64_t, int> receives = messagesOfJobs(r, kRecvLane);
  EXPECT_EQ(receives.at(2), 2);
  EXPECT_EQ(receives.at(3), 2);
  EXPECT_EQ(messagesOfJobs(r, kSendLane).at(2), 2);
}

TEST(FoundPairs, PairBeginsWhenTheMessageOfItsLaterHalfIsThere) {
  PairingHost host;
  host.forward().exchange().forward().exchange().pair(0).exchange().pairThatWaits(1).exchange();
  host.backward(2).exchange().backward(3);
  const test::Reading r = host.read();
  EXPECT_THAT(jobsAndPairs(r), testing::Contains("forward_backward 3+1: 3000 to 3490"));
  EXPECT_EQ(messagesOfJobs(r, kRecvLane).at(3), 3) << "two before it, and one inside";
}

}  // namespace
}  // namespace pipetrace
