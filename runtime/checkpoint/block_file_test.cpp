#include "runtime/checkpoint/block_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/checkpoint/file_bytes.h"
#include "runtime/checkpoint/testing/saved_model.h"
#include "runtime/testing/error_of.h"

namespace pipetrace::testing {
namespace {

const std::atomic<bool> kNever{false};

/// Tensors of several types and shapes.
BlockState variousTensors() {
  return {
      .block = 3,
      .name = "layer",
      .tensors = {{"parameters.weight", at::arange(12, at::kFloat).reshape({3, 4}) / 8},
                  {"parameters.half", at::full({2}, 1.5, at::kBFloat16)},
                  {"buffers.none", at::empty({0, 4})},
                  {"buffers.flags", at::arange(3) == 1},
                  {"optimizer.weight.step", at::scalar_tensor(std::int64_t{1} << 40, at::kLong)},
                  {"optimizer.weight.exp_avg", at::full({3, 4}, 0.25, at::kDouble)}}};
}

std::string output(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  ::pclose(pipe);
  return text;
}

TEST(BlockFileTest, PickleLoadReadsTheTensorsThatPickleSaveWrites) {
  const TestFolder folder;
  const BlockState state = variousTensors();
  const BlockFile written = writeBlockFile(folder.path(), state, kNever);
  const std::string bytes = readFile(folder / "block_3.pt");
  EXPECT_EQ(written.bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"block_3.pt"});

  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  for (const auto& [key, tensor] : state.tensors) dict.insert(key, tensor);
  const auto theirs = torch::jit::pickle_load(torch::jit::pickle_save(dict)).toGenericDict();
  const auto ours = torch::jit::pickle_load({bytes.begin(), bytes.end()}).toGenericDict();
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& item : theirs) {
    EXPECT_TRUE(ours.at(item.key()).toTensor().equal(item.value().toTensor())) << item.key();
  }
}

TEST(BlockFileTest, TensorsComeBackWithTheirTypesAndBits) {
  const TestFolder folder;
  BlockState state = variousTensors();
  state.version = 2;
  const BlockFile written = writeBlockFile(folder.path(), state, kNever);
  EXPECT_EQ(written.file, "block_3.version_2.pt");
  const BlockState read = readBlockFile(folder.path(), written);
  EXPECT_EQ(read.name, "layer");
  EXPECT_EQ(read.version, 2);
  ASSERT_EQ(read.tensors.size(), state.tensors.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].first, state.tensors[i].first);
    EXPECT_EQ(read.tensors[i].second.scalar_type(), state.tensors[i].second.scalar_type());
    EXPECT_TRUE(read.tensors[i].second.equal(state.tensors[i].second));
  }
}

TEST(BlockFileTest, PythonsTorchOpensItWithItsDefaults) {
  const char* const given = std::getenv("PIPETRACE_TORCH_PYTHON");
  const std::string python = given != nullptr ? given : "python3";
  if (output(python + " -c 'import torch; print(torch.__version__)' 2>/dev/null").empty()) {
    GTEST_SKIP() << python << " cannot import torch (PIPETRACE_TORCH_PYTHON)";
  }
  const TestFolder folder;
  writeBlockFile(folder.path(), variousTensors(), kNever);
  writeFile(folder / "look.py",
            "import sys, torch\n"
            "for key, tensor in torch.load(sys.argv[1]).items():\n"
            "    print(key, tensor.dtype, list(tensor.shape), tensor.double().sum().item())\n");
  EXPECT_EQ(output(python + " '" + folder / "look.py" + "' '" + folder / "block_3.pt" + "' 2>&1"),
            "parameters.weight torch.float32 [3, 4] 8.25\n"
            "parameters.half torch.bfloat16 [2] 3.0\n"
            "buffers.none torch.float32 [0, 4] 0.0\n"
            "buffers.flags torch.bool [3] 1.0\n"
            "optimizer.weight.step torch.int64 [] 1099511627776.0\n"
            "optimizer.weight.exp_avg torch.float64 [3, 4] 3.0\n");
}

// torch.load's defaults allow these names and few others (torch/_weights_only_unpickler.py): a
// program of torch::save has classes of TorchScript in their place. This needs no torch.
TEST(BlockFileTest, ItsPickleNamesNothingThatTorchsDefaultsForbid) {
  const TestFolder folder;
  writeBlockFile(folder.path(), variousTensors(), kNever);
  writeFile(folder / "look.py",
            "import pickletools, sys, zipfile\n"
            "archive = zipfile.ZipFile(sys.argv[1])\n"
            "pickle, = (name for name in archive.namelist() if name.endswith('/data.pkl'))\n"
            "ops = list(pickletools.genops(archive.read(pickle)))\n"
            "print(*sorted({text for op, text, _ in ops if 'GLOBAL' in op.name}), sep=', ')\n");
  EXPECT_EQ(output("python3 '" + folder / "look.py" + "' '" + folder / "block_3.pt" + "' 2>&1"),
            "collections OrderedDict, torch BFloat16Storage, torch BoolStorage, torch "
            "DoubleStorage, torch FloatStorage, torch LongStorage, torch._utils "
            "_rebuild_tensor_v2\n");
}

TEST(BlockFileTest, ChecksumIsThatOfZlibAndZip) {
  Checksum checksum;
  checksum.add("1234");
  checksum.add("56789");
  EXPECT_EQ(checksum.value(), 0xcbf43926U);  // the check value of CRC-32/ISO-HDLC
  EXPECT_EQ(checksumText(checksum.value()), "cbf43926");
  EXPECT_EQ(checksumText(0xab), "000000ab");
}

TEST(BlockFileTest, AFileOfAnotherProgramIsRefused) {
  const TestFolder folder;
  writeFile(folder / "block_0.pt", "no zip");
  const BlockFile expected{.file = "block_0.pt", .bytes = 6, .crc32 = checksumOf("no zip")};
  EXPECT_THAT(errorOf([&] { readBlockFile(folder.path(), expected); }),
              ::testing::HasSubstr("block_0.pt is no file of a checkpoint: "));
}

TEST(BlockFileTest, WritingIsGivenUpAndLeavesNothing) {
  const TestFolder folder;
  const std::atomic<bool> now{true};
  EXPECT_THROW(writeBlockFile(folder.path(), variousTensors(), now), WritingGivenUp);
  EXPECT_THAT(folder.files(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace pipetrace::testing
