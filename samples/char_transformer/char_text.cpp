#include "samples/char_transformer/char_text.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <array>
#include <random>
#include <vector>

#include "samples/files/read_file.h"
#include "trace/error.h"

namespace pipetrace {

CharText::CharText(const std::string& path) : path_(path) {
  const std::string text = readFile(path);
  std::array<std::int64_t, 256> numberOf{};
  for (const char c : text) numberOf[static_cast<unsigned char>(c)] = 1;
  for (std::int64_t& number : numberOf) {
    if (number != 0) number = vocabulary_++;
  }
  numbers_ = at::empty({static_cast<std::int64_t>(text.size())}, at::kLong);
  auto* numbers = numbers_.mutable_data_ptr<std::int64_t>();
  for (const char c : text) *numbers++ = numberOf[static_cast<unsigned char>(c)];
}

Batch CharText::windows(std::uint64_t seed, int step, std::int64_t rows,
                        std::int64_t context) const {
  const std::int64_t places = length() - context;
  if (places < 1) {
    throw Error(
        fmt::format("{} has {} characters, but training needs at least {}; give a longer "
                    "text with --data or a shorter --context",
                    path_, length(), context + 1));
  }
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(step)};
  std::mt19937_64 random(sequence);
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> targets;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(places));
    inputs.push_back(numbers_.slice(0, at, at + context));
    targets.push_back(numbers_.slice(0, at + 1, at + 1 + context));
  }
  return {{"inputs", at::stack(inputs)}, {"targets", at::stack(targets)}};
}

}  // namespace pipetrace
