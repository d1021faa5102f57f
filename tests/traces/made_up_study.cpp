#include "tests/traces/made_up_study.h"

#include <algorithm>
#include <utility>

namespace pipetrace::test {
namespace {

using Ns = std::int64_t;

/// A linear congruential generator, the same in any language.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  Ns below(Ns count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<Ns>((state_ >> 33U) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_;
};

std::string microseconds(Ns time) {
  std::string digits = std::to_string(time % 1000);
  return std::to_string(time / 1000) + "." + std::string(3 - digits.size(), '0') + digits;
}

/// Forward or not, and the micro-batch.
std::vector<std::pair<bool, int>> orderOf(int position, const MadeUpStudy& study) {
  const int warmUp = std::min(study.microBatches, study.positions - 1 - position);
  std::vector<std::pair<bool, int>> order;
  for (int i = 0; i < warmUp; ++i) order.emplace_back(true, i);
  for (int i = 0; i < study.microBatches - warmUp; ++i) {
    order.emplace_back(true, warmUp + i);
    order.emplace_back(false, i);
  }
  for (int i = study.microBatches - warmUp; i < study.microBatches; ++i) {
    order.emplace_back(false, i);
  }
  return order;
}

class Writer {
 public:
  explicit Writer(const MadeUpStudy& study) : study_(study), random_(study.seed) {}

  std::string write() {
    for (replica_ = 0; replica_ < study_.replicas; ++replica_) {
      for (position_ = 0; position_ < study_.positions; ++position_) addLanes();
    }
    for (std::size_t i = 0; i < study_.steps.size(); ++i) {
      step_ = study_.steps[i];
      begin_ = (static_cast<Ns>(i) + 1) * 1'000'000'000;
      for (replica_ = 0; replica_ < study_.replicas; ++replica_) {
        for (position_ = 0; position_ < study_.positions; ++position_) addRank();
      }
    }
    return "[\n" + text_ + "\n]\n";
  }

 private:
  static constexpr int kCompute = 0;
  static constexpr int kMessages = 1;
  static constexpr int kCollectives = 3;

  std::string tid(int lane) const {
    const int rank = (replica_ + position_ * study_.replicas) * study_.rankStride;
    return std::to_string(rank * 5 + lane);
  }
  void addLine(const std::string& line) { text_ += (text_.empty() ? "" : ",\n") + line; }

  void addLanes() {
    for (const auto& [lane, name] :
         {std::pair(kCompute, "compute"), {kMessages, "pp-comm"}, {kCollectives, "dp-comm"}}) {
      addLine(R"({"ph":"M","name":"thread_name","pid":)" + std::to_string(replica_) + R"(,"tid":)" +
              tid(lane) + R"(,"args":{"name":"PP rank )" + std::to_string(position_) +
              ", TP rank 0, " + name + R"("}})");
    }
  }

  void add(int lane, const std::string& name, Ns begin, Ns duration, int number,
           int microBatch = -1, int chunk = -1) {
    addLine(R"({"ph":"X","name":")" + name + R"(","cat":")" + name + R"(","pid":)" +
            std::to_string(replica_) + R"(,"tid":)" + tid(lane) + R"(,"ts":)" +
            microseconds(begin) + R"(,"dur":)" + microseconds(duration) + R"(,"args":{"step":)" +
            std::to_string(step_) + R"(,"model_chunk":)" + std::to_string(chunk) + R"(,"mb_id":)" +
            std::to_string(microBatch) + R"(,"seq_id":)" + std::to_string(number) + "}}");
  }

  void addRank() {
    const bool isSlow = position_ == study_.slowStage;
    Ns begin = begin_ - 2'000'000 + random_.below(4000);
    Ns duration = 1'500'000 + random_.below(200'000);
    add(kCollectives, "params-all-gather", begin, duration, 0, -1, 0);
    const auto order = orderOf(position_, study_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto [isForward, number] = order[i];
      begin = begin_ + static_cast<Ns>(i) * 4'000'000 + position_ * 100'000 + random_.below(50'000);
      duration = (isForward ? 600'000 : 1'300'000) + random_.below(100'000);
      if (isSlow) duration = duration * 3 / 2;
      if ((replica_ * study_.positions + position_) % 11 == 4) duration = duration * 5 / 4;
      if (step_ % 10 == 7) duration *= 3;
      add(kCompute, isForward ? "forward-compute" : "backward-compute", begin, duration, number,
          number, 0);
      addMessages(isForward, number);
    }
    addEnd(begin_ + static_cast<Ns>(order.size() + 1) * 4'000'000, isSlow);
  }

  void addMessages(bool isForward, int number) {
    const bool hasNext = position_ + 1 < study_.positions;
    const bool hasPrevious = position_ > 0;
    const std::string direction = isForward ? "forward" : "backward";
    for (const bool isSend : {true, false}) {
      if (!(isForward == isSend ? hasNext : hasPrevious)) continue;
      const int receiver = isSend ? position_ + (isForward ? 1 : -1) : position_;
      const Ns begin = begin_ + number * 3'000'000 + receiver * 700'000 +
                       (isForward ? 0 : 1'500'000) + random_.below(3000);
      Ns duration = random_.below(8) * 40'000;
      duration += random_.below(1000);
      if (random_.below(5) == 0) duration = 0;
      if (isSend && random_.below(29) == 0) continue;  // its receive is left alone
      add(kMessages, direction + (isSend ? "-send" : "-recv"), begin, duration, number);
    }
  }

  void addEnd(Ns end, bool isSlow) {
    const auto next = [&](int lane, const std::string& name, Ns after, Ns early, Ns length,
                          Ns longer, int chunk = -1) {
      const Ns begin = end + after + random_.below(early);
      add(lane, name, begin, length + random_.below(longer), 0, -1, chunk);
    };
    const Ns pause = random_.below(3) * 30'000;
    next(kCompute, "gc", 0, 1000, pause, 1);
    next(kCollectives, "layernorm-grads-all-reduce", 200'000, 1000, 40'000, 20'000);
    if (position_ == 0 || position_ == study_.positions - 1) {
      next(kCollectives, "embedding-grads-all-reduce", 400'000, 5000, 900'000, 400'000);
    }
    next(kCollectives, "grads-reduce-scatter", 2'500'000, 5000, isSlow ? 5'000'000 : 3'000'000,
         100'000, 0);
    next(kCollectives, "optimizer-clip-main-grad", 9'000'000, 5000, 500'000, 50'000);
    next(kCompute, "optimizer", 11'000'000, 5000, 1'000'000, 300'000);
  }

  const MadeUpStudy& study_;
  Random random_;
  std::string text_;
  int replica_ = 0;
  int position_ = 0;
  int step_ = 0;
  Ns begin_ = 0;
};

}  // namespace

std::string toJson(const MadeUpStudy& study) { return Writer(study).write(); }

}  // namespace pipetrace::test
