#include "schedule/builders/dual_pipe_steps.h"

#include <deque>

namespace pipetrace {
namespace {

class Steps {
 public:
  Steps(RankRowWriter& row, const DualPipeSize& size, int outer, int inner)
      : plan_(row), size_(size), f0_(outer), f1_(inner) {}

  void run() {
    const int toMiddle = size_.depth - 1 - size_.position;
    const int toEdge = size_.position + 1;
    for (int i = 0; i < 2 * toMiddle; ++i) plan_.forward(f0_);  // 1: nF0
    for (int i = 0; i < toEdge; ++i) stepF0F1();                // 2: nF0F1
    for (int i = 0; i < toMiddle; ++i) stepI1W1F1();            // 3: nI1W1F1
    const int main = size_.microBatches - 2 * size_.depth + toEdge;
    for (int i = 0; i < main; ++i) stepF0B1F1B0(i);        // 4: nF0B1F1B0
    for (int i = 0; i < toMiddle; ++i) stepB1F1B0();       // 5: nB1F1B0
    for (int i = 0; i < toEdge; ++i) stepB1B0(i, toEdge);  // 6: nB1B0
    for (int i = 0; i < toMiddle; ++i) stepWB0();          // 7: nWB0
    while (!pending_.empty()) weight();                    // 8: nW
  }

 private:
  void stepF0F1() {
    plan_.forward(f0_);
    plan_.forward(f1_);
  }
  void stepI1W1F1() {
    backwardInput(f1_);
    weight();
    plan_.forward(f1_);
  }
  void stepF0B1F1B0(int i) {
    const bool innermost = size_.position == size_.depth - 1;
    if (i == 0 && innermost) {
      // Not fused, as the neighbour waits for the forward.
      plan_.forward(f0_);
      plan_.backward(f1_);
    } else {
      plan_.forwardBackward(f0_, f1_);
    }
    plan_.forwardBackward(f1_, f0_);
  }
  void stepB1F1B0() {
    plan_.backward(f1_);
    plan_.forwardBackward(f1_, f0_);
  }
  /// Splits its backward passes from the middle of its 2n on.
  void stepB1B0(int i, int n) {
    backward(f1_, 2 * i >= n);
    backward(f0_, 2 * i + 1 >= n);
  }
  void stepWB0() {
    weight();
    backwardInput(f0_);
  }

  void backward(int chunk, bool split) {
    if (split) {
      backwardInput(chunk);
    } else {
      plan_.backward(chunk);
    }
  }
  void backwardInput(int chunk) {
    plan_.backwardInput(chunk);
    pending_.push_back(chunk);
  }
  void weight() {
    plan_.backwardWeight(pending_.front());
    pending_.pop_front();
  }

  RankRowWriter& plan_;
  const DualPipeSize& size_;
  const int f0_;
  const int f1_;
  std::deque<int> pending_;  // chunks of the input halves whose weight halves are to come
};

}  // namespace

void addDualPipeSteps(RankRowWriter& row, const DualPipeSize& size, int outer, int inner) {
  Steps(row, size, outer, inner).run();
}

}  // namespace pipetrace
