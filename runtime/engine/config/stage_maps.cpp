#include "runtime/engine/config/stage_maps.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "runtime/engine/config/config_file.h"
#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

constexpr int kMostOfAll = 1 << 20;
const std::vector<std::string> kMaps = {"module_to_stage_map", "stage_to_rank_map",
                                        "stage_to_depth_map"};

constexpr const char* kExample = R"("module_to_stage_map": [0, 1, 1])";

class StageMapReader {
 public:
  explicit StageMapReader(const std::string& path)
      : path_(path), file_(readConfigFile(path, kExample)) {}

  StageMaps read() {
    for (const ConfigEntry& entry : file_.entries) requireKnown(entry);
    if (find(kMaps[0]) == nullptr) fail(file_.line, "it has no " + kMaps[0]);
    readModules();
    readRanks();
    readDepths();
    return std::move(maps_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& why) const {
    throw Error(placeIn(path_, line) + ": " + why);
  }

  void requireKnown(const ConfigEntry& entry) {
    const auto [known, isNew] = lines_.emplace(entry.key, entry.line);
    if (!isNew) {
      fail(entry.line,
           entry.key + " is there twice; first in line " + std::to_string(known->second));
    }
    if (std::find(kMaps.begin(), kMaps.end(), entry.key) != kMaps.end()) return;
    const std::string meant = nearestName(entry.key, kMaps);
    fail(entry.line,
         "unknown key " + shownText(entry.key) + "; " +
             (meant.empty() ? "the keys are " + kMaps[0] + ", " + kMaps[1] + " and " + kMaps[2]
                            : "did you mean " + meant + "?"));
  }

  const ConfigEntry* find(const std::string& key) const {
    for (const ConfigEntry& entry : file_.entries) {
      if (entry.key == key && entry.value.kind != ConfigValue::Kind::kNothing) return &entry;
    }
    return nullptr;
  }

  int number(const std::string& text, int line, const std::string& what) const {
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && last == end && value >= 0 && value < kMostOfAll) return value;
    fail(line, shownText(text) + " is no " + what + "; write a number from 0 on");
  }
  int number(const ConfigValue& value, const std::string& what) const {
    if (value.kind != ConfigValue::Kind::kText) fail(value.line, "a " + what + " is one number");
    return number(value.text, value.line, what);
  }
  std::vector<int> list(const ConfigValue& value, const std::string& what) const {
    if (value.kind != ConfigValue::Kind::kList)
      fail(value.line, "this is no list of " + what + "s");
    std::vector<int> numbers;
    for (const ConfigValue& item : value.items) numbers.push_back(number(item, what));
    return numbers;
  }

  void readModules() {
    const ConfigEntry& entry = *find(kMaps[0]);
    maps_.moduleToStage = list(entry.value, "stage");
    if (maps_.moduleToStage.size() < 2) {
      fail(entry.line, kMaps[0] + " needs a stage for each module and one for the loss");
    }
    int next = 0;  // the stage that is yet to come
    for (std::size_t module = 0; module < maps_.moduleToStage.size(); ++module) {
      const int stage = maps_.moduleToStage[module];
      if (stage > next || stage < next - 1) {
        fail(entry.line, kMaps[0] + " has module " + std::to_string(module) + " on stage " +
                             std::to_string(stage) +
                             (next == 0 ? "" : " after stage " + std::to_string(next - 1)) +
                             "; stages count up from 0, and none is left out");
      }
      if (stage == next) ++next;
    }
    stages_ = next;
    if (maps_.modulesOfStages().back() == 0) {
      fail(entry.line, kMaps[0] + " has nothing but the loss on stage " +
                           std::to_string(stages_ - 1) + "; the loss goes with the stage before");
    }
  }

  /// The entries of a map from stages, in their order.
  std::vector<const ConfigEntry*> byStage(const ConfigEntry& entry) const {
    if (entry.value.kind != ConfigValue::Kind::kMap) {
      fail(entry.line, entry.key + " is a map from stages, such as {\"0\": ...}");
    }
    std::vector<const ConfigEntry*> of(static_cast<std::size_t>(stages_), nullptr);
    for (const ConfigEntry& each : entry.value.entries) {
      const int stage = number(each.key, each.line, "stage");
      if (stage >= stages_) {
        fail(each.line, entry.key + " has stage " + each.key + ", but " + kMaps[0] +
                            " has the stages 0 to " + std::to_string(stages_ - 1));
      }
      const ConfigEntry*& place = of[static_cast<std::size_t>(stage)];
      if (place != nullptr) fail(each.line, entry.key + " has stage " + each.key + " twice");
      place = &each;
    }
    const auto missing = std::find(of.begin(), of.end(), nullptr);
    if (missing != of.end()) {
      fail(entry.line, entry.key + " leaves out stage " + std::to_string(missing - of.begin()));
    }
    return of;
  }

  void readRanks() {
    const ConfigEntry* const entry = find(kMaps[1]);
    if (entry == nullptr) {
      for (int stage = 0; stage < stages_; ++stage) maps_.stageRanks.push_back({stage});
      return;
    }
    std::map<int, int> stageOf;
    int stage = 0;
    for (const ConfigEntry* const each : byStage(*entry)) {
      std::vector<int> ranks = list(each->value, "rank");
      if (ranks.empty()) fail(each->line, "stage " + each->key + " has no rank");
      for (const int rank : ranks) {
        const auto [first, isNew] = stageOf.emplace(rank, stage);
        if (isNew) continue;
        fail(each->line, "rank " + std::to_string(rank) + " is there twice, on stage " +
                             std::to_string(first->second) + " and on stage " +
                             std::to_string(stage));
      }
      std::sort(ranks.begin(), ranks.end());
      maps_.stageRanks.push_back(std::move(ranks));
      ++stage;
    }
    int next = 0;
    for (const auto& [rank, unused] : stageOf) {
      if (rank != next) {
        fail(entry->line, entry->key + " leaves out rank " + std::to_string(next) +
                              ", but has rank " + std::to_string(stageOf.rbegin()->first));
      }
      ++next;
    }
  }

  void readDepths() {
    const ConfigEntry* const entry = find(kMaps[2]);
    if (entry == nullptr) return;
    for (const ConfigEntry* const each : byStage(*entry)) {
      maps_.stageDepths.push_back(number(each->value, "number of forwards"));
    }
  }

  const std::string path_;
  const ConfigValue file_;
  std::map<std::string, int> lines_;
  StageMaps maps_;
  int stages_ = 0;
};

}  // namespace

int StageMaps::numRanks() const {
  std::size_t count = 0;
  for (const std::vector<int>& ranks : stageRanks) count += ranks.size();
  return static_cast<int>(count);
}

bool StageMaps::isPlain() const {
  for (int stage = 0; stage < numStages(); ++stage) {
    if (stageRanks[static_cast<std::size_t>(stage)] != std::vector<int>{stage}) return false;
  }
  return true;
}

std::vector<int> StageMaps::modulesOfStages() const {
  if (moduleToStage.empty()) return {};
  std::vector<int> counts(
      static_cast<std::size_t>(*std::max_element(moduleToStage.begin(), moduleToStage.end())) + 1);
  for (std::size_t module = 0; module + 1 < moduleToStage.size(); ++module) {
    ++counts[static_cast<std::size_t>(moduleToStage[module])];
  }
  return counts;
}

StageMaps readStageMaps(const std::string& path) { return StageMapReader(path).read(); }

}  // namespace pipetrace
