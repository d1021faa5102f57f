#include "analysis/run/costs/blocks_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/run/costs/cost_json.h"
#include "analysis/run/costs/given_costs.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using JsonKind = CostJson::Kind;

constexpr std::string_view kBlocksKey = "blocks";
constexpr std::string_view kBlockName = "name";
constexpr std::string_view kBlockCount = "count";
constexpr std::string_view kLinkBandwidth = "bandwidth_gbs";
constexpr std::string_view kActivationKey = "activation_bytes";
constexpr std::int64_t kMostBlocks = 10'000;

constexpr CostKey<BlockCosts, std::int64_t> kBlockKeys[] = {
    {"forward_ms", &BlockCosts::forward},
    {"backward_ms", &BlockCosts::backward},
    {"backward_input_ms", &BlockCosts::backwardInput},
    {"backward_weight_ms", &BlockCosts::backwardWeight},
    {"optimizer_ms", &BlockCosts::optimizer},
    {kActivationKey, &BlockCosts::activation},
    {kFreedByInput, &BlockCosts::freedByInput},
    {"shared_bytes", &BlockCosts::shared},
    {"working_bytes", &BlockCosts::working},
    {"message_bytes", &BlockCosts::message},
    {"parameter_bytes", &BlockCosts::parameters},
    {"updating_bytes", &BlockCosts::updating}};
constexpr CostKey<BlockTable, Nanoseconds> kTableKeys[] = {{"transfer_ms", &BlockTable::transfer},
                                                           {"lr_ms", &BlockTable::lr}};

/// A block of the file, and how often it is there.
class BlockReader {
 public:
  /// `place` names the file and the block's number.
  BlockReader(const CostJson& block, std::string place) : json_(block), place_(std::move(place)) {}

  BlockCosts read() {
    if (!json_.isA(JsonKind::kObject)) {
      throw Error(place_ + " is " + json_.whatItIs() + ", not an object");
    }
    const CostJson* const name = json_.find(kBlockName);
    if (name != nullptr && name->isA(JsonKind::kText)) {
      block_.name = name->text;
      if (!block_.name.empty()) place_ += " (" + block_.name + ")";
    }
    std::vector<std::string> known{std::string(kBlockName), std::string(kBlockCount)};
    addNames(known, kBlockKeys);
    requireKeys(json_, known, place_ + ": ", "a block");
    for (const auto& [key, value] : json_.members) readKey(key, value);
    if (json_.find("forward_ms") == nullptr) throw Error(place_ + " has no forward_ms");
    completeBackward();
    if (block_.freedByInput > block_.activation) {
      throw Error(place_ + " frees more memory with its input half than its forward takes");
    }
    if (block_.shared > block_.activation) {
      throw Error(place_ + " shares more memory with the next block than its forward takes");
    }
    return block_;
  }

  const std::string& place() const { return place_; }
  std::int64_t count() const { return count_; }

 private:
  void readKey(const std::string& key, const CostJson& value) {
    const CostFailure fail = [&](const std::string& what) {
      throw Error(place_ + ": " + key + " " + what);
    };
    if (key == kBlockName) {
      if (!value.isA(JsonKind::kText)) fail(std::string("is ") + value.whatItIs() + ", not a text");
      return;
    }
    const std::int64_t cost = costIn(key, value, fail);
    if (key != kBlockCount) {
      block_.*memberOf(kBlockKeys, key) = cost;
      return;
    }
    if (cost < 1 || cost > kMostBlocks) {
      fail("is " + value.text + "; it is from 1 to " + std::to_string(kMostBlocks));
    }
    count_ = cost;
  }

  void completeBackward() {
    const auto given = [&](std::string_view key, std::int64_t cost) {
      return json_.find(key) == nullptr ? GivenCosts::Values{} : GivenCosts::Values{cost};
    };
    GivenCosts costs;
    costs.forward = {block_.forward};
    costs.backward = given("backward_ms", block_.backward);
    costs.backwardInput = given("backward_input_ms", block_.backwardInput);
    costs.backwardWeight = given("backward_weight_ms", block_.backwardWeight);
    try {
      const StageCosts stage = completeCosts(costs, 1).stages.front();
      block_.backward = stage.backward;
      block_.backwardInput = stage.backwardInput;
      block_.backwardWeight = stage.backwardWeight;
    } catch (const Error&) {
      throw Error(place_ +
                  " has a half of its backward that is longer than the whole; give the whole, or "
                  "both halves");
    }
  }

  const CostJson& json_;
  std::string place_;
  BlockCosts block_;
  std::int64_t count_ = 1;
};

/// The file.
class BlocksReader {
 public:
  explicit BlocksReader(const std::string& name) : name_(name) {}

  BlockTable read(const CostJson& file) {
    if (!file.isA(JsonKind::kObject)) {
      throw Error(name_ +
                  " holds no object; a blocks file is like {\"blocks\": [{\"forward_ms\": "
                  "10}]}");
    }
    std::vector<std::string> known{std::string(kBlocksKey), std::string(kLinkBandwidth)};
    addNames(known, kTableKeys);
    requireKeys(file, known, name_ + ": ", "a blocks file");
    for (const auto& [key, value] : file.members) readKey(key, value);
    if (table_.blocks.empty()) {
      throw Error(name_ +
                  " has no blocks; a blocks file is like {\"blocks\": [{\"forward_ms\": "
                  "10}, {\"forward_ms\": 12}]}");
    }
    requireActivations();
    requireNeighbours();
    return std::move(table_);
  }

 private:
  void readKey(const std::string& key, const CostJson& value) {
    const CostFailure fail = [&](const std::string& what) {
      throw Error(name_ + ": " + key + " " + what);
    };
    if (key == kLinkBandwidth) {
      table_.bandwidth = bandwidthIn(value, fail);
    } else if (key != kBlocksKey) {
      table_.*memberOf(kTableKeys, key) = costIn(key, value, fail);
    } else if (value.isA(JsonKind::kArray)) {
      for (const CostJson& block : value.items) addBlock(block);
    } else {
      fail(std::string("is ") + value.whatItIs() + ", not an array of blocks");
    }
  }

  std::string placeOf(std::size_t block) const {
    return name_ + ": block " + std::to_string(block);
  }

  void addBlock(const CostJson& json) {
    BlockReader reader(json, placeOf(table_.blocks.size()));
    const BlockCosts block = reader.read();
    if (table_.numBlocks() + reader.count() > kMostBlocks) {
      throw Error(reader.place() + " is one of more than " + std::to_string(kMostBlocks));
    }
    const auto count = static_cast<std::size_t>(reader.count());
    table_.blocks.insert(table_.blocks.end(), count, block);
    hasActivation_.insert(hasActivation_.end(), count, json.find(kActivationKey) != nullptr);
  }

  void requireActivations() const {
    if (std::find(hasActivation_.begin(), hasActivation_.end(), true) == hasActivation_.end()) {
      return;
    }
    for (std::size_t i = 0; i < hasActivation_.size(); ++i) {
      if (hasActivation_[i]) continue;
      throw Error(
          placeOf(i) +
          " has no activation_bytes, but others have; give those of all blocks, or of none");
    }
  }

  void requireNeighbours() const {
    for (std::size_t i = 1; i < table_.blocks.size(); ++i) {
      if (table_.blocks[i - 1].shared <= table_.blocks[i].activation) continue;
      throw Error(placeOf(i - 1) + " shares more memory with the next block than that one takes");
    }
  }

  const std::string& name_;
  BlockTable table_;
  std::vector<bool> hasActivation_;  // by block
};

}  // namespace

BlockTable readBlocksFile(std::string_view text, const std::string& name) {
  return BlocksReader(name).read(readCostJson(text, name));
}

std::string toBlocksFile(const BlockTable& table) {
  const auto numberOf = [](std::string_view key, std::int64_t cost) {
    return key.ends_with("_ms") ? milliseconds(cost) : std::to_string(cost);
  };
  std::string text;
  for (const BlockCosts& block : table.blocks) {
    text += text.empty() ? "{\n  \"blocks\": [\n    {" : ",\n    {";
    std::string costs;
    const auto add = [&](std::string_view key, const std::string& value) {
      costs += (costs.empty() ? "\"" : ", \"") + std::string(key) + "\": " + value;
    };
    if (!block.name.empty()) {
      add(kBlockName, nlohmann::json(block.name)
                          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    for (const auto& key : kBlockKeys) {
      // A backward that is left out would be twice the forward, and memory is of all blocks.
      const bool isOptional = !key.name.starts_with("forward") && !key.name.starts_with("backward");
      const bool isNeeded = !isOptional || (key.name == kActivationKey && table.hasMemory());
      const std::int64_t cost = block.*key.member;
      if (cost != 0 || isNeeded) add(key.name, numberOf(key.name, cost));
    }
    text += costs + "}";
  }
  text += text.empty() ? "{\n  \"blocks\": [\n" : "\n";
  text += "  ]";
  const auto addLine = [&](std::string_view key, const std::string& value) {
    text += ",\n  \"" + std::string(key) + "\": " + value;
  };
  for (const auto& key : kTableKeys) {
    if (table.*key.member != 0) addLine(key.name, numberOf(key.name, table.*key.member));
  }
  if (table.bandwidth != 0) {
    addLine(kLinkBandwidth, nlohmann::json(table.bandwidth / kBandwidthUnit).dump());
  }
  return text + "\n}\n";
}

}  // namespace pipetrace
