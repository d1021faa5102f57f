// Measures the cost of recording a training step of a transformer (LibTorch, micro-batches, AdamW):
// the same step with recording on and off in turn. Prints the medians, and what `Profiler End:`
// says. transformer_overhead [--cpu] [TURNS] Exit code: 0 done, 2 could not, 77 there is no CUDA
// device, or no libtorch_cuda.so beside it.
#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>
#include <torch/cuda.h>
#include <torch/nn/modules/transformercoder.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/cuda/runtime.h"
#include "profiler/cuda/stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"

namespace pipetrace {
namespace {

constexpr int kNothingHere = 77;

struct Size {
  std::int64_t width;
  std::int64_t tokens;
  std::int64_t batch;
  std::int64_t layers;
  int microBatches;
};
constexpr Size kOnDevice = {
    .width = 512, .tokens = 128, .batch = 16, .layers = 4, .microBatches = 4};
constexpr Size kOnCpu = {.width = 16, .tokens = 4, .batch = 2, .layers = 1, .microBatches = 2};

class Training {
 public:
  Training(const Size& size, torch::Device device)
      : size_(size),
        device_(device),
        model_(torch::nn::TransformerEncoderLayer(
                   torch::nn::TransformerEncoderLayerOptions(size.width, 4)
                       .dim_feedforward(4 * size.width)),
               size.layers),
        input_(torch::randn({size.tokens, size.batch, size.width})) {
    model_->to(device);
    input_ = input_.to(device);
    optimizer_ = std::make_unique<torch::optim::AdamW>(model_->parameters());
  }

  /// Returns how long the step took until the device was done with it.
  Nanoseconds step(Recorder& recorder, StreamId stream) {
    const Nanoseconds start = monotonicNow();
    const int step = steps_++;
    const auto job = [&](JobKind kind, int microBatch, const auto& body) {
      recorder.begin(stream, {.kind = kind, .microBatch = microBatch, .step = step});
      body();
      recorder.end(stream);
    };
    job(JobKind::kLr, 0, [&] { optimizer_->zero_grad(); });
    for (int i = 0; i < size_.microBatches; ++i) {
      torch::Tensor loss;
      job(JobKind::kForward, i, [&] { loss = model_->forward(input_).square().mean(); });
      job(JobKind::kBackward, i, [&] { loss.backward(); });
    }
    job(JobKind::kOptimizer, 0, [&] { optimizer_->step(); });
    recorder.endStep(step);
    if (device_.is_cuda()) torch::cuda::synchronize();
    return monotonicNow() - start;
  }

 private:
  const Size size_;
  const torch::Device device_;
  torch::nn::TransformerEncoder model_;
  torch::Tensor input_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  int steps_ = 0;
};

double median(std::vector<Nanoseconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle);
}

std::unique_ptr<DeviceStream> streamOf(torch::Device device) {
  if (!device.is_cuda()) return std::make_unique<CpuStream>();
  const auto stream = c10::cuda::getCurrentCUDAStream();
  return std::make_unique<CudaStream>(
      std::make_shared<CudaDevice>(makeCudaRuntime(), stream.device_index()), stream.stream());
}

int measure(torch::Device device, int turns) {
  Training training(device.is_cuda() ? kOnDevice : kOnCpu, device);
  const RecordedLog log;
  Recorder on({.logDirectory = log.folder()});
  Recorder off({.isOn = false});
  const StreamId compute = on.addStream("compute", streamOf(device));
  for (int i = 0; i < 5; ++i) training.step(off, compute);  // kernels are chosen, memory is taken
  std::vector<Nanoseconds> with;
  std::vector<Nanoseconds> without;
  for (int i = 0; i < 2 * turns; ++i) {
    const bool isOn = i % 4 == 0 || i % 4 == 3;  // neither always comes first
    (isOn ? with : without).push_back(training.step(isOn ? on : off, compute));
  }
  on.close();
  const double base = median(without);
  std::printf("  a transformer's step takes %.3f ms, recorded %.3f ms: %+.2f %%\n", base / 1e6,
              median(with) / 1e6, 100 * (median(with) - base) / base);
  std::printf(
      "  %lld jobs written, %lld dropped; recording took %.3f %% of the steps' time\n",
      log.number("Profiler End: ", "written"), log.number("Profiler End: ", "dropped"),
      100 * static_cast<double>(log.number("Profiler End: ", "own_cost_ns")) / turns / base);
  const auto jobs = static_cast<long long>(log.lines("Profiler Info: ").size());
  const int perStep = 2 + 2 * (device.is_cuda() ? kOnDevice : kOnCpu).microBatches;
  return jobs == static_cast<long long>(perStep) * turns ? 0 : 2;
}

int run(bool onCpu, int turns) {
  if (onCpu) {
    torch::set_num_threads(1);  // several wait for each other in turns where other programs run
    return measure(torch::kCPU, turns);
  }
  // Loaded and not linked, as it needs a dozen libraries that are only where torch is installed.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::printf("  not measured: %s\n", dlerror());
    return kNothingHere;
  }
  if (!torch::cuda::is_available()) {
    std::printf("  not measured: no CUDA device\n");
    return kNothingHere;
  }
  return measure(torch::kCUDA, turns);
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  const bool onCpu = argc > 1 && std::string(argv[1]) == "--cpu";
  const int given = onCpu ? 2 : 1;
  const int turns = argc > given ? std::atoi(argv[given]) : 100;
  try {
    return pipetrace::run(onCpu, std::max(turns, 1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "transformer_overhead: %s\n", error.what());
    return 2;
  }
}
