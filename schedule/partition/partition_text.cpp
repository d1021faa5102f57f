#include "schedule/partition/partition_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace pipetrace {
namespace {

template <typename Text>
std::string listOf(std::size_t size, const Text& text) {
  std::string list = "[";
  for (std::size_t i = 0; i < size; ++i) list += (i == 0 ? "" : ", ") + text(i);
  return list + "]";
}

/// The number of thousandths, millionths … as a decimal number without zeros at its end.
std::string decimal(std::int64_t number, int digits) {
  std::string text = std::to_string(number);
  text.insert(0, static_cast<std::size_t>(std::max(0, digits - static_cast<int>(text.size()))),
              '0');
  while (text.back() == '0') text.pop_back();
  return "0." + text;
}

}  // namespace

std::string recomputeRatio(int recomputed, int blocks) {
  if (recomputed <= 0) return "0";
  if (recomputed >= blocks) return "1";
  std::int64_t scale = 1;
  for (int digits = 1; digits <= 15; ++digits) {
    scale *= 10;
    // The least number of these digits that is at least recomputed / blocks.
    std::int64_t number = (std::int64_t{recomputed} * scale + blocks - 1) / blocks;
    for (int i = 0; i < 2 && number < scale; ++i, ++number) {
      const std::string text = decimal(number, digits);
      const double ratio = static_cast<double>(number) / static_cast<double>(scale);
      if (static_cast<int>(ratio * blocks) == recomputed) return text;
    }
  }
  return std::to_string((recomputed + 0.5) / blocks);
}

double recomputeRatioNumber(int recomputed, int blocks) {
  const std::string text = recomputeRatio(recomputed, blocks);
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return text == "1" ? 1 : 0;
  double scale = 1;
  for (std::size_t i = point + 1; i < text.size(); ++i) scale *= 10;
  return static_cast<double>(std::stoll(text.substr(point + 1))) / scale;
}

std::string partitionFile(const BlockPartition& partition, const std::string& madeBy) {
  const std::size_t stages = partition.blocks.size();
  std::string text = "{\"partition\": ";
  text += listOf(stages, [&](std::size_t s) { return std::to_string(partition.blocks[s]); });
  text += ", \"recompute_ratio\": ";
  text += listOf(stages, [&](std::size_t s) {
    return recomputeRatio(partition.recomputedOf(static_cast<int>(s)), partition.blocks[s]);
  });
  if (!madeBy.empty()) text += ", \"made_by\": \"" + madeBy + "\"";
  return text + "}\n";
}

}  // namespace pipetrace
