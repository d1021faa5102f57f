#include "schedule/partition/partition_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>

#include "trace/error.h"
#include "trace/text/log_numbers.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

template <typename Number>
std::vector<Number> numbersOf(const nlohmann::json& file, const std::string& key,
                              bool (*fits)(const nlohmann::json&), const std::string& what) {
  std::vector<Number> numbers;
  const nlohmann::json& list = file.at(key);
  if (!list.is_array()) throw Error("\"" + key + "\" is no list");
  for (const nlohmann::json& number : list) {
    if (!fits(number)) throw Error("\"" + key + "\" has " + number.dump() + ", which is " + what);
    numbers.push_back(number.get<Number>());
  }
  return numbers;
}

bool isBlockCount(const nlohmann::json& number) {
  return number.is_number_integer() && number.get<double>() >= 1 && number.get<double>() <= 1e6;
}

bool isRatio(const nlohmann::json& number) {
  return number.is_number() && number.get<double>() >= 0 && number.get<double>() <= 1;
}

constexpr const char* kMadeBy = "made_by";

Partition parsed(const nlohmann::json& file) {
  if (!file.is_object()) throw Error("it is no JSON object");
  for (const auto& [key, value] : file.items()) {
    if (key != "partition" && key != "recompute_ratio" && key != kMadeBy) {
      throw Error("unknown key \"" + key +
                  "\"; the keys are \"partition\" and \"recompute_ratio\"");
    }
  }
  if (!file.contains("partition")) throw Error("it has no \"partition\"");
  Partition partition;
  partition.blocks =
      numbersOf<int>(file, "partition", isBlockCount, "no number of blocks (1 or more)");
  if (!file.contains("recompute_ratio")) return partition;
  partition.recomputeRatio =
      numbersOf<double>(file, "recompute_ratio", isRatio, "no share from 0 to 1");
  if (partition.recomputeRatio.size() != partition.blocks.size()) {
    throw Error("\"recompute_ratio\" is of " +
                countText(static_cast<int>(partition.recomputeRatio.size()), "stage") +
                ", but \"partition\" of " + std::to_string(partition.blocks.size()));
  }
  return partition;
}

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

int Partition::recomputed(int stage) const {
  if (recomputeRatio.empty()) return 0;
  const auto s = static_cast<std::size_t>(stage);
  return static_cast<int>(recomputeRatio[s] * blocks[s]);
}

Partition evenPartition(int numBlocks, int numStages) {
  return {.blocks = evenBlocks(numBlocks, numStages), .recomputeRatio = {}};
}

void requireFits(const Partition& partition, int numBlocks, int numStages) {
  if (partition.numStages() != numStages) {
    throw Error("the partition is for " + countText(partition.numStages(), "stage") +
                ", but the plan has " + std::to_string(numStages));
  }
  for (int s = 0; s < numStages; ++s) {
    if (partition.blocks[static_cast<std::size_t>(s)] < 1) {
      throw Error("the partition gives stage " + std::to_string(s) + " no block");
    }
  }
  const int sum = std::accumulate(partition.blocks.begin(), partition.blocks.end(), 0);
  if (sum != numBlocks) {
    throw Error("the partition adds up to " + countText(sum, "block") + ", but the model has " +
                std::to_string(numBlocks));
  }
  const auto isRatioOfNone = [](double ratio) { return !(ratio >= 0 && ratio <= 1); };
  if (!partition.recomputeRatio.empty() &&
      (partition.recomputeRatio.size() != partition.blocks.size() ||
       std::any_of(partition.recomputeRatio.begin(), partition.recomputeRatio.end(),
                   isRatioOfNone))) {
    throw Error("a partition needs a recompute ratio from 0 to 1 for each of its stages");
  }
}

/// Reads JSON, and hands it to `use`. Errors name it as `name`.
template <typename Input, typename Use>
static auto inJson(Input& input, const std::string& name, const Use& use) {
  try {
    return use(nlohmann::json::parse(input));
  } catch (const nlohmann::json::exception& e) {
    const std::string text = e.what();  // "[json.exception.parse_error.101] parse error at …"
    throw Error(name + " is no JSON: " + text.substr(text.find("] ") + 2));
  } catch (const Error& e) {
    throw Error(name + ": " + e.what());
  }
}

template <typename Use>
static auto inPartitionFile(const std::string& path, const Use& use) {
  const std::string failed = "cannot read the partition " + path + ": ";
  if (std::filesystem::is_directory(path)) throw Error(failed + "it is a folder");
  std::ifstream in(path);
  if (!in) throw Error(failed + std::strerror(errno));
  return inJson(in, "the partition " + path, use);
}

Partition readPartition(const std::string& path) { return inPartitionFile(path, parsed); }

Partition partitionIn(const std::string& text) { return inJson(text, "the partition", parsed); }

bool isPartitionText(std::string_view text) {
  return text.starts_with('{') ||
         (!text.empty() && text.find_first_not_of("0123456789,") == std::string_view::npos);
}

Partition partitionOption(const std::string& text) {
  if (text.starts_with('{')) return partitionIn(text);
  if (!isPartitionText(text)) return readPartition(text);
  Partition partition{.blocks = blockCountsFrom(text), .recomputeRatio = {}};
  if (std::find(partition.blocks.begin(), partition.blocks.end(), 0) != partition.blocks.end()) {
    throw Error("the partition " + text + " has a stage without blocks");
  }
  return partition;
}

BlockPartition blockPartitionOf(const Partition& partition) {
  BlockPartition counts{.blocks = partition.blocks, .recomputed = {}};
  if (partition.recomputeRatio.empty()) return counts;
  for (int stage = 0; stage < partition.numStages(); ++stage) {
    counts.recomputed.push_back(partition.recomputed(stage));
  }
  return counts;
}

std::vector<int> blockCountsFrom(std::string_view text) {
  constexpr int kMost = 1'000'000;
  std::vector<int> counts;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto count = parseNumber<int>(rest.substr(0, comma));
    if (!count || *count < 0 || *count > kMost) {
      throw Error("\"" + std::string(text) +
                  "\" is no list of blocks by stage; it is like 12,13,13,11");
    }
    counts.push_back(*count);
    if (comma == std::string_view::npos) return counts;
    rest.remove_prefix(comma + 1);
  }
}

std::string blockCountsText(const std::vector<int>& blocks) {
  std::string text;
  for (const int count : blocks) text += (text.empty() ? "" : ",") + std::to_string(count);
  return text;
}

bool isPartitionMadeBy(const std::string& path, const std::string& program) {
  return inPartitionFile(path, [&](const nlohmann::json& file) {
    parsed(file);  // throws
    return file.value(kMadeBy, "") == program;
  });
}

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

std::vector<int> evenBlocks(int numBlocks, int numStages) {
  if (numStages < 1 || numBlocks < numStages) {
    throw Error("a model of " + countText(numBlocks, "block") + " cannot be cut into " +
                countText(numStages, "stage") + "; use fewer stages or more blocks");
  }
  std::vector<int> blocks;
  for (int s = 0; s < numStages; ++s) {
    blocks.push_back(numBlocks / numStages + (s < numBlocks % numStages ? 1 : 0));
  }
  return blocks;
}

}  // namespace pipetrace
