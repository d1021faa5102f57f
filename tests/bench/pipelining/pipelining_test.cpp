// The program that is compared with torch.distributed.pipelining trains what one process trains
// without any pipeline, and its encoder layer is the one that Python has.
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "runtime/train/stage.h"
#include "tests/bench/pipelining/encoder_layer.h"
#include "tests/bench/pipelining/models.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace::bench {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kMicroBatches = 8;
constexpr int kSteps = 2;

// The first of each step's losses is of weights that nothing has changed.
std::vector<double> lossesOfOneProcess(const ModelSize& size) {
  torch::set_num_threads(1);
  const Model model = makeModel(size);
  std::vector<std::shared_ptr<BlockModule>> blocks;
  NamedParameters parameters;
  for (int i = 0; i < size.layers; ++i) {
    blocks.push_back(makeBlock(model, i, 0));
    for (const auto& parameter : blocks.back()->named_parameters()) {
      parameters.emplace_back(parameter.key(), parameter.value());
    }
  }
  const auto optimizer = makeSgd(parameters);
  const Batch batch = makeBatch(size, kMicroBatches);
  const auto inputs = batch.at("inputs").chunk(kMicroBatches);
  const auto targets = batch.at("targets").chunk(kMicroBatches);
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    double sum = 0;
    for (std::size_t m = 0; m < kMicroBatches; ++m) {
      Tensors x{inputs[m]};
      for (const auto& block : blocks) x = block->run(x);
      const at::Tensor loss = (x[0] - targets[m]).square().mean();
      sum += loss.item<double>() / kMicroBatches;
      (loss / kMicroBatches).backward();
    }
    optimizer->step();
    losses.push_back(sum);
  }
  return losses;
}

struct Case {
  std::string name;
  std::string model;
  std::string schedule;
  int chunks = 1;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

ModelSize smallSize(const std::string& model) {
  ModelSize size = modelSize(model);
  size.width = 16;
  size.rows = 2;
  if (size.isTransformer) size.tokens = 4;
  return size;
}

std::vector<pipetrace::testing::ProcessEnd> runSmall(const Case& c, const std::string& logs) {
  return pipetrace::testing::runProcesses(
      4, {test::inBuild("bin/pipelining_bench"), "--model", c.model, "--schedule", c.schedule,
          "--v", std::to_string(c.chunks), "--width", "16", "--rows", "2", "--tokens", "4",
          "--warm", "1", "--steps", std::to_string(kSteps - 1), "--log-dir", logs});
}

class PipeliningBenchTest : public ::testing::TestWithParam<Case> {};

TEST_P(PipeliningBenchTest, LossesAreThoseOfOneProcess) {
  const pipetrace::testing::ScratchFolder logs;
  const auto ends = runSmall(GetParam(), logs.path());
  for (const auto& end : ends) ASSERT_EQ(end.exitCode, 0) << end.output;
  const auto last = nlohmann::json::parse(ends.back().output);
  const auto losses = last["losses"].get<std::vector<double>>();
  const std::vector<double> expected = lossesOfOneProcess(smallSize(GetParam().model));
  ASSERT_THAT(losses, SizeIs(kSteps));
  for (std::size_t step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(losses[step], expected[step], 1e-6 * expected[step]) << "step " << step;
  }
  EXPECT_LT(losses[1], losses[0]);
  EXPECT_THAT(last["step_ms"], SizeIs(kSteps - 1));
  for (const char rank : {'0', '1', '2', '3'}) {
    EXPECT_THAT(test::fileText(logs.path(std::string("workerlog.") + rank)),
                HasSubstr("Profiler End:"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, PipeliningBenchTest,
                         ::testing::Values(Case{"Mlp", "mlp", "1F1B", 1},
                                           Case{"TransformerOf2Chunks", "xfmr", "Interleaved1F1B",
                                                2}),
                         [](const auto& test) { return test.param.name; });

TEST(PipeliningBenchProgramTest, RefusesWhatItCannotTrain) {
  const auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), test::inBuild("bin/pipelining_bench"));
    return pipetrace::testing::runProcess(arguments);
  };
  const auto noRank = run({});
  EXPECT_EQ(noRank.exitCode, 2);
  EXPECT_THAT(noRank.output, HasSubstr("RANK"));
  const auto noModel = run({"--model", "cnn"});
  EXPECT_EQ(noModel.exitCode, 2);
  EXPECT_THAT(noModel.output, HasSubstr("cnn"));
  const auto noHeads = pipetrace::testing::runProcesses(
      1, {test::inBuild("bin/pipelining_bench"), "--model", "xfmr", "--width", "18"});
  EXPECT_EQ(noHeads[0].exitCode, 2);
  EXPECT_THAT(noHeads[0].output, HasSubstr("4 equal heads"));
}

// The outermost ATen operators that run on this thread while it lives.
class OperatorNames {
 public:
  OperatorNames() {
    names_.clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction& f) -> std::unique_ptr<at::ObserverContext> {
              if (depth_++ == 0) names_.emplace_back(f.name());
              return nullptr;
            },
            [](const at::RecordFunction&, at::ObserverContext*) { --depth_; })
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~OperatorNames() { at::removeCallback(handle_); }
  OperatorNames(const OperatorNames&) = delete;
  OperatorNames& operator=(const OperatorNames&) = delete;
  const std::vector<std::string>& all() const { return names_; }

 private:
  static inline thread_local std::vector<std::string> names_;
  static inline thread_local int depth_ = 0;
  at::CallbackHandle handle_;
};

// The table is what torch 2.11's profiler lists for torch.nn.TransformerEncoderLayer in training.
TEST(EncoderLayerTest, RunsTheOperatorsOfThePythonLayer) {
  torch::manual_seed(0);
  EncoderLayer layer(16, 4);
  const at::Tensor x = at::randn({2, 4, 16});
  const OperatorNames operators;
  layer(x);
  EXPECT_THAT(operators.all(), ElementsAreArray({
                                   "aten::transpose",  "aten::linear",
                                   "aten::unflatten",  "aten::unsqueeze",
                                   "aten::transpose",  "aten::squeeze",
                                   "aten::contiguous", "aten::select",
                                   "aten::select",     "aten::select",
                                   "aten::view",       "aten::transpose",
                                   "aten::view",       "aten::transpose",
                                   "aten::view",       "aten::transpose",
                                   "aten::view",       "aten::view",
                                   "aten::view",       "aten::scaled_dot_product_attention",
                                   "aten::permute",    "aten::view",
                                   "aten::linear",     "aten::view",
                                   "aten::transpose",  "aten::dropout",
                                   "aten::add",        "aten::layer_norm",
                                   "aten::linear",     "aten::relu",
                                   "aten::dropout",    "aten::linear",
                                   "aten::dropout",    "aten::add",
                                   "aten::layer_norm",
                               }));
}

}  // namespace
}  // namespace pipetrace::bench
