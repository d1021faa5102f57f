// Measures what it costs to split a backward: the input half (I) and the weight half (W) of the
// runtime's linear layers. Compares them with the whole backward (B) of the same layers, and of
// torch's. Takes one thread. The rounds of the three are interleaved. Prints medians.
//
//   split_backward_bench [rows [width [layers [rounds]]]]
#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "runtime/engine/engine_main.h"
#include "runtime/train/model/linear.h"
#include "trace/nanoseconds.h"

namespace pipetrace {
namespace {

double microseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec * kNsPerSecond + time.tv_nsec) / 1000;
}

template <typename Body>
double timeOf(const Body& body) {
  const double begin = microseconds();
  body();
  return microseconds() - begin;
}

/// Layers that run one after the other.
template <typename Layer>
class Layers {
 public:
  Layers(int rows, int width, int layers)
      : input_(at::randn({rows, width})), gradient_(at::randn({rows, width})) {
    for (int i = 0; i < layers; ++i) layers_.emplace_back(width, width);
  }

  void forward() {
    output_ = input_.detach().requires_grad_();
    for (Layer& layer : layers_) output_ = layer->forward(output_);
  }
  void backward() {
    output_.backward(gradient_);
    output_ = at::Tensor();
  }

 private:
  const at::Tensor input_;
  const at::Tensor gradient_;
  std::vector<Layer> layers_;
  at::Tensor output_;
};

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int integer(int argc, char** argv, int index, int otherwise) {
  return argc > index ? std::atoi(argv[index]) : otherwise;
}

void measure(int rows, int width, int layers, int rounds) {
  Layers<Linear> split(rows, width, layers);
  Layers<Linear> whole(rows, width, layers);
  Layers<torch::nn::Linear> theirs(rows, width, layers);
  std::vector<double> input;
  std::vector<double> weight;
  std::vector<double> both;
  std::vector<double> ours;
  std::vector<double> torch;
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    WeightHalf half;
    split.forward();
    const double i = timeOf([&] {
      const WeightHalf::Collecting collecting(half);
      split.backward();
    });
    const double w = timeOf([&] { half.run(); });
    whole.forward();
    const double b = timeOf([&] { whole.backward(); });
    theirs.forward();
    const double t = timeOf([&] { theirs.backward(); });
    if (round < 0) continue;
    input.push_back(i);
    weight.push_back(w);
    both.push_back(i + w);
    ours.push_back(b);
    torch.push_back(t);
  }
  std::printf(
      "%d layers, [%d, %d]: I %.0f us, W %.0f us, I + W %.0f us, B %.0f us, torch's B %.0f us; "
      "(I + W) / torch's B %.3f\n",
      layers, rows, width, medianOf(input), medianOf(weight), medianOf(both), medianOf(ours),
      medianOf(torch), medianOf(both) / medianOf(torch));
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  using namespace pipetrace;
  reuseFreedMemory();
  at::set_num_threads(1);
  const int width = integer(argc, argv, 2, 1024);
  const int layers = integer(argc, argv, 3, 1);
  const int rounds = integer(argc, argv, 4, 201);
  if (argc > 1) {
    measure(integer(argc, argv, 1, 32), width, layers, rounds);
    return 0;
  }
  for (const int rows : {32, 256}) measure(rows, width, layers, rounds);
}
