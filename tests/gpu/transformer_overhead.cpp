// Measures the cost of recording a training step of a transformer (LibTorch, micro-batches, AdamW):
// the same step with recording on and off in turn, by events alone and with CUPTI. Prints the
// medians, the 95 % interval of the pairs' differences, and what `Profiler End:` says.
//    transformer_overhead [--cpu] [PAIRS]
// Exit code: 0 done, 2 could not, 77 there is no CUDA device,
// or no libtorch_cuda.so beside it.
#include <c10/core/AutogradState.h>
#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>
#include <torch/cuda.h>
#include <torch/nn/modules/transformercoder.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/cuda/runtime.h"
#include "profiler/cuda/stream.h"
#include "profiler/kernels/cupti_collector.h"
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
    .width = 1024, .tokens = 160, .batch = 16, .layers = 8, .microBatches = 4};
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
  Nanoseconds step(Recorder& recorder, StreamId stream, CuptiCollector* collector = nullptr) {
    const Nanoseconds start = monotonicNow();
    const int step = steps_++;
    const auto job = [&](JobKind kind, int microBatch, const auto& body) {
      const std::int64_t id =
          recorder.begin(stream, {.kind = kind, .microBatch = microBatch, .step = step});
      if (collector != nullptr) collector->beginJob(id);
      body();
      if (collector != nullptr) collector->endJob();
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

/// The two values between which the median of a population lies in 95 of 100 samples like this one
/// (order statistics of the binomial distribution; Conover, Practical Nonparametric Statistics).
std::pair<double, double> medianInterval(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  const double half = 1.96 * std::sqrt(n) / 2;
  const auto at = [&](double place) {
    return sample[static_cast<std::size_t>(std::clamp(place, 0.0, n - 1))];
  };
  return {at(std::floor(n / 2 - half)), at(std::ceil(n / 2 + half))};
}

int measure(torch::Device device, int pairs, bool withCupti) {
  // Backward runs on this thread, so that CUPTI gives its kernels to the job that calls it.
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  Training training(device.is_cuda() ? kOnDevice : kOnCpu, device);
  const RecordedLog log;
  Recorder on({.logDirectory = log.folder()});
  Recorder off({.isOn = false});
  const StreamId compute = on.addStream("compute", streamOf(device));
  for (int i = 0; i < 5; ++i) training.step(off, compute);  // kernels are chosen, memory is taken
  std::vector<Nanoseconds> with;
  std::vector<Nanoseconds> without;
  std::vector<double> differences;  // %
  const auto recordedStep = [&] {
    // CUPTI makes all kernels dearer while it collects, so it is there for this step alone.
    std::optional<CudaKernelLog> lines;
    std::optional<CuptiCollector> collector;
    if (withCupti) {
      lines.emplace(on.logPath());
      collector.emplace(makeCupti(), *lines);
    }
    with.push_back(training.step(on, compute, collector ? &*collector : nullptr));
  };
  for (int i = 0; i < pairs; ++i) {
    const bool isOnFirst = i % 2 == 0;  // neither always comes first
    if (isOnFirst) recordedStep();
    without.push_back(training.step(off, compute));
    if (!isOnFirst) recordedStep();
    differences.push_back(100 * static_cast<double>(with.back() - without.back()) /
                          static_cast<double>(without.back()));
  }
  on.close();
  const double base = median(without);
  const auto [least, most] = medianInterval(differences);
  std::printf("  a transformer's step takes %.3f ms, recorded by %s %.3f ms\n", base / 1e6,
              withCupti ? "events and CUPTI" : "events", median(with) / 1e6);
  std::printf("  %d pairs in turn: %+.3f %% to %+.3f %% (95 %% interval of the median)\n", pairs,
              least, most);
  std::printf(
      "  %lld jobs written, %lld dropped; recording took %.3f %% of the steps' time\n",
      log.number("Profiler End: ", "written"), log.number("Profiler End: ", "dropped"),
      100 * static_cast<double>(log.number("Profiler End: ", "own_cost_ns")) / pairs / base);
  if (withCupti) {
    const auto kernels = log.lines("Profiler Kernel: ");
    const auto given = std::count_if(kernels.begin(), kernels.end(), [](const std::string& line) {
      return line.find(", job = ") != std::string::npos;
    });
    std::printf("  %zu kernels, copies and memsets written, %.2f %% of them with their job\n",
                kernels.size(),
                kernels.empty()
                    ? 0.0
                    : 100 * static_cast<double>(given) / static_cast<double>(kernels.size()));
  }
  const auto jobs = static_cast<long long>(log.lines("Profiler Info: ").size());
  const int perStep = 2 + 2 * (device.is_cuda() ? kOnDevice : kOnCpu).microBatches;
  return jobs == static_cast<long long>(perStep) * pairs ? 0 : 2;
}

int run(bool onCpu, int pairs) {
  if (onCpu) {
    torch::set_num_threads(1);  // several wait for each other in turns where other programs run
    return measure(torch::kCPU, pairs, false);
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
  const int status = measure(torch::kCUDA, pairs, false);
  return status == 0 ? measure(torch::kCUDA, pairs, true) : status;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  const bool onCpu = argc > 1 && std::string(argv[1]) == "--cpu";
  const int given = onCpu ? 2 : 1;
  const int pairs = argc > given ? std::atoi(argv[given]) : 100;
  try {
    return pipetrace::run(onCpu, std::max(pairs, 1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "transformer_overhead: %s\n", error.what());
    return 2;
  }
}
