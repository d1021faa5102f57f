#include "analysis/costs/blocks_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "analysis/costs/cost_numbers.h"
#include "analysis/costs/given_costs.h"
#include "trace/error.h"
#include "trace/text/number_with_point.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

constexpr std::string_view kBlocksKey = "blocks";
constexpr std::string_view kBlockName = "name";
constexpr std::string_view kBlockCount = "count";
constexpr std::string_view kLinkBandwidth = "bandwidth_gbs";
constexpr std::string_view kActivationKey = "activation_bytes";
constexpr double kBytesPerGb = 1e9;
constexpr std::int64_t kMostBlocks = 10'000;

struct BlockKey {
  std::string_view name;
  std::int64_t BlockCosts::*cost;
};
constexpr BlockKey kBlockKeys[] = {{"forward_ms", &BlockCosts::forward},
                                   {"backward_ms", &BlockCosts::backward},
                                   {"backward_input_ms", &BlockCosts::backwardInput},
                                   {"backward_weight_ms", &BlockCosts::backwardWeight},
                                   {"optimizer_ms", &BlockCosts::optimizer},
                                   {kActivationKey, &BlockCosts::activation},
                                   {"freed_by_input_bytes", &BlockCosts::freedByInput},
                                   {"working_bytes", &BlockCosts::working},
                                   {"message_bytes", &BlockCosts::message},
                                   {"parameter_bytes", &BlockCosts::parameters},
                                   {"updating_bytes", &BlockCosts::updating}};

struct TableKey {
  std::string_view name;
  Nanoseconds BlockTable::*time;
};
constexpr TableKey kTableKeys[] = {{"transfer_ms", &BlockTable::transfer},
                                   {"lr_ms", &BlockTable::lr}};

template <typename Keys>
std::vector<std::string> namesOf(const Keys& keys, std::initializer_list<std::string_view> others) {
  std::vector<std::string> names(others.begin(), others.end());
  for (const auto& key : keys) names.emplace_back(key.name);
  return names;
}

std::string keyAdvice(const std::string& key, const std::vector<std::string>& names) {
  if (const std::string near = nearestName(key, names); !near.empty()) {
    return "did you mean " + near + "?";
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return "the keys are " + list;
}

template <typename Keys>
auto find(const Keys& keys, const std::string& name) {
  return std::find_if(std::begin(keys), std::end(keys),
                      [&](const auto& known) { return known.name == name; });
}

/// Reads the numbers while the text is parsed: times need their digits, which a parsed document has
/// lost.
class BlocksHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit BlocksHandler(const std::string& name) : name_(name) {}

  BlockTable take() {
    if (table_.blocks.empty()) {
      throw Error(name_ +
                  " has no blocks; a blocks file is like {\"blocks\": [{\"forward_ms\": "
                  "10}, {\"forward_ms\": 12}]}");
    }
    requireActivations();
    return std::move(table_);
  }

  bool null() override { return noValue("null"); }
  bool boolean(bool) override { return noValue("true or false"); }
  bool binary(binary_t&) override { return noValue("text"); }
  bool string(string_t& text) override {
    if (place_ != Place::kBlock || key_ != kBlockName) return noValue("text");
    block_.name = text;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return number(std::to_string(value), static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(std::to_string(value), static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return number(numberWithPoint(text), value);
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTable;
    } else if (place_ == Place::kBlocks) {
      place_ = Place::kBlock;
      block_ = {};
      count_ = 1;
      inBlock_.clear();
      key_.clear();
    } else {
      return noValue("an object");
    }
    return true;
  }
  bool end_object() override {
    if (place_ == Place::kTable) {
      place_ = Place::kOutside;
      return true;
    }
    key_.clear();
    addBlock();
    place_ = Place::kBlocks;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::kTable || key_ != kBlocksKey) return noValue("an array");
    place_ = Place::kBlocks;
    key_.clear();
    return true;
  }
  bool end_array() override {
    place_ = Place::kTable;
    return true;
  }
  bool key(string_t& key) override {
    key_ = key;
    const bool isOfBlock = place_ == Place::kBlock;
    if (!(isOfBlock ? inBlock_ : inTable_).insert(key).second) fail("occurs twice");
    if (isOfBlock && key != kBlockName && key != kBlockCount &&
        find(kBlockKeys, key) == std::end(kBlockKeys)) {
      fail("is no key of a block; " +
           keyAdvice(key, namesOf(kBlockKeys, {kBlockName, kBlockCount})));
    }
    if (!isOfBlock && key != kBlocksKey && key != kLinkBandwidth &&
        find(kTableKeys, key) == std::end(kTableKeys)) {
      fail("is no key of a blocks file; " +
           keyAdvice(key, namesOf(kTableKeys, {kBlocksKey, kLinkBandwidth})));
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    throw Error(invalidJson(name_, error));
  }

 private:
  enum class Place { kOutside, kTable, kBlocks, kBlock };

  [[noreturn]] void fail(const std::string& what) const {
    std::string where = name_ + ": ";
    if (place_ == Place::kBlock || place_ == Place::kBlocks) {
      where += "block " + std::to_string(table_.blocks.size());
      if (!block_.name.empty()) where += " (" + block_.name + ")";
      where += key_.empty() ? " " : ": ";
    }
    throw Error(where + key_ + (key_.empty() ? "" : " ") + what);
  }

  bool noValue(const char* what) const {
    if (place_ == Place::kOutside) {
      throw Error(name_ +
                  " holds no object; a blocks file is like {\"blocks\": [{\"forward_ms\": "
                  "10}]}");
    }
    if (place_ == Place::kBlocks) fail("is " + std::string(what) + ", not an object");
    const bool isText = place_ == Place::kBlock && key_ == kBlockName;
    const bool isList = place_ == Place::kTable && key_ == kBlocksKey;
    fail("is " + std::string(what) + ", not " +
         (isText   ? "a text"
          : isList ? "an array of blocks"
                   : "a number"));
  }

  bool number(const std::string& text, double value) {
    const bool isBlock = place_ == Place::kBlock;
    if (!isBlock && place_ != Place::kTable) return noValue("a number");
    if (key_ == (isBlock ? kBlockName : kBlocksKey)) return noValue("a number");
    if (!isBlock && key_ == kLinkBandwidth) return bandwidth(text, value);
    const std::int64_t cost = costIn(key_, text, [this](const std::string& what) { fail(what); });
    if (!isBlock) {
      table_.*(find(kTableKeys, key_)->time) = cost;
    } else if (key_ != kBlockCount) {
      block_.*(find(kBlockKeys, key_)->cost) = cost;
    } else if (cost < 1 || cost > kMostBlocks) {
      fail("is " + text + "; it is from 1 to " + std::to_string(kMostBlocks));
    } else {
      count_ = cost;
    }
    return true;
  }

  bool bandwidth(const std::string& text, double value) {
    table_.bandwidth = value * kBytesPerGb;
    if (!(table_.bandwidth > 0 && std::isfinite(table_.bandwidth))) {
      fail("is " + text + "; a bandwidth is finite and above 0, or left out");
    }
    return true;
  }

  bool has(std::string_view key) const { return inBlock_.contains(std::string(key)); }

  /// With the costs that the others say.
  void addBlock() {
    if (!has("forward_ms")) fail("has no forward_ms");
    completeBackward();
    if (block_.freedByInput > block_.activation) {
      fail("frees more memory with its input half than its forward takes");
    }
    if (table_.numBlocks() + count_ > kMostBlocks) {
      fail("is one of more than " + std::to_string(kMostBlocks));
    }
    table_.blocks.insert(table_.blocks.end(), static_cast<std::size_t>(count_), block_);
    hasActivation_.insert(hasActivation_.end(), static_cast<std::size_t>(count_),
                          has(kActivationKey) ? 1 : 0);
    block_ = {};
  }

  void completeBackward() {
    const auto given = [&](std::string_view key, std::int64_t cost) {
      return has(key) ? GivenCosts::Values{cost} : GivenCosts::Values{};
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
      fail(
          "has a half of its backward that is longer than the whole; give the whole, or both "
          "halves");
    }
  }

  void requireActivations() const {
    if (std::find(hasActivation_.begin(), hasActivation_.end(), 1) == hasActivation_.end()) return;
    for (std::size_t i = 0; i < hasActivation_.size(); ++i) {
      if (hasActivation_[i] != 0) continue;
      throw Error(
          name_ + ": block " + std::to_string(i) +
          " has no activation_bytes, but others have; give those of all blocks, or of none");
    }
  }

  const std::string& name_;
  BlockTable table_;
  Place place_ = Place::kOutside;
  std::string key_;
  std::set<std::string> inTable_;  // keys
  std::set<std::string> inBlock_;
  BlockCosts block_;  // that is read
  std::int64_t count_ = 1;
  std::vector<char> hasActivation_;  // by block
};

}  // namespace

BlockTable readBlocksFile(std::string_view text, const std::string& name) {
  BlocksHandler handler(name);
  nlohmann::json::sax_parse(text, &handler, nlohmann::json::input_format_t::json, true, true);
  return handler.take();
}

}  // namespace pipetrace
