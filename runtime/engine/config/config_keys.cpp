#include "runtime/engine/config/config_keys.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

constexpr std::string_view kMessagesWhole = "messages between stages travel as they are";
constexpr std::string_view kNoMigration = "blocks stay on the stage that they began on";
constexpr std::string_view kNoSwap =
    "nothing is swapped out to the host; recompute_ratio of the partition saves memory";

template <typename Number>
bool isNumber(const std::string& text, Number& value) {
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(begin, end, value);
  return begin != end && error == std::errc() && last == end;
}

std::string fromOn(double least) {
  return least == 0 ? "0 or more" : std::to_string(static_cast<int>(least)) + " or more";
}

}  // namespace

const std::vector<ConfigKey>& configKeys() {
  static const std::vector<ConfigKey> kKeys = {
      {"batch_size", {"b"}, KeyKind::kWhole, 1},
      {"bert_config", {}},
      {"checkpoint_dir", {}},
      {"compress_activations", {}, KeyKind::kRefused, 0, kMessagesWhole},
      {"compress_in_gpu", {}, KeyKind::kRefused, 0, kMessagesWhole},
      {"config_file", {}},
      {"container", {}},
      {"data_dir", {}},
      {"directory", {}},
      {"distributed_backend", {}},
      {"epochs", {}, KeyKind::kWhole, 1},
      {"eval_batch_size", {}, KeyKind::kWhole, 1},
      {"forward_only", {}, KeyKind::kTruth},
      {"fp16", {}, KeyKind::kTruth},
      {"inputs_module_destinations", {}, KeyKind::kAny},
      {"learning_rate", {"lr"}, KeyKind::kNumber},
      {"learning_rate_policy", {"lr_policy"}},
      {"live_migration", {"migration"}, KeyKind::kRefused, 0, kNoMigration},
      {"log_directory", {}},
      {"loss_scale", {}},
      {"lr_warmup", {}, KeyKind::kTruthOrWhole},
      {"machines", {}, KeyKind::kAny},
      {"macrobatch", {}, KeyKind::kTruth},
      {"master_addr", {}},
      {"master_port", {}, KeyKind::kWhole, 1},
      {"model_type", {}},
      {"module", {}},
      {"no_input_pipelining", {}, KeyKind::kTruth},
      {"num_minibatches", {}, KeyKind::kWhole, 1},
      {"partition", {}, KeyKind::kAny},
      {"print_frequency", {"print_freq"}, KeyKind::kWhole},
      {"recompute", {}, KeyKind::kTruth},
      {"swapping", {"swap"}, KeyKind::kRefused, 0, kNoSwap},
      {"sync_mode", {}},
      {"synthetic_data", {}, KeyKind::kTruth},
      {"target_tensor_names", {}, KeyKind::kAny},
      {"translation_model", {}, KeyKind::kRefused, 0, "say model_type: translation"},
      {"verbose_frequency", {"verbose_freq"}, KeyKind::kWhole},
      {"weight_decay", {"wd"}, KeyKind::kNumber},
  };
  return kKeys;
}

std::string configName(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

const ConfigKey* findConfigKey(std::string_view name) {
  const std::string wanted = configName(name);
  for (const ConfigKey& key : configKeys()) {
    if (key.name == wanted) return &key;
    for (const std::string_view alias : key.aliases) {
      if (alias == wanted) return &key;
    }
  }
  return nullptr;
}

std::vector<std::string> configKeyNames() {
  std::vector<std::string> names;
  for (const ConfigKey& key : configKeys()) {
    names.emplace_back(key.name);
    names.insert(names.end(), key.aliases.begin(), key.aliases.end());
  }
  return names;
}

bool isTruth(const std::string& text, bool& value) {
  std::string low = text;
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* const yes : {"true", "yes", "on"}) {
    if (low == yes) return value = true;
  }
  value = false;
  return low == "false" || low == "no" || low == "off";
}

ConfigValues::ConfigValues(const std::string& path) : file_(path) {
  ConfigValue whole = readConfigFile(path);
  for (ConfigEntry& entry : whole.entries) {
    const ConfigKey* const known = findConfigKey(entry.key);
    const std::string name = known == nullptr ? configName(entry.key) : std::string(known->name);
    const auto [first, isNew] = entries_.emplace(name, entry);
    if (!isNew) {
      const bool isSame = first->second.key == entry.key;
      throw Error(placeIn(file_, entry.line) + ": " + shownText(entry.key) +
                  " is there twice; first" +
                  (isSame ? "" : ", as " + shownText(first->second.key) + ",") + " in line " +
                  std::to_string(first->second.line));
    }
    names_.push_back(name);
  }
  const auto isNothing = [this](const std::string& name) {
    return value(name).kind == ConfigValue::Kind::kNothing;
  };
  for (const std::string& name : names_) {
    if (isNothing(name)) {
      entries_.erase(name);
    } else {
      requireKind(name);
    }
  }
  std::erase_if(names_, [this](const std::string& name) { return !has(name); });
}

void ConfigValues::requireKind(const std::string& name) const {
  const ConfigKey* const key = findConfigKey(name);
  if (key == nullptr || key->kind == KeyKind::kAny) return;
  if (value(name).kind != ConfigValue::Kind::kText) fail(name, "one value is meant here");
  const std::string& written = value(name).text;
  bool truth = false;
  const bool hasTruth = isTruth(written, truth);
  double number = 0;
  const bool hasNumber = isNumber(written, number) && std::isfinite(number);
  const bool fits = hasNumber && number >= key->least;
  const bool isWhole =
      fits && number == std::floor(number) && number <= std::numeric_limits<int>::max();
  switch (key->kind) {
    case KeyKind::kTruth:
      if (!hasTruth) fail(name, shownText(written) + " is neither true nor false");
      break;
    case KeyKind::kWhole:
      if (!isWhole) fail(name, shownText(written) + " is no whole number of " + fromOn(key->least));
      break;
    case KeyKind::kNumber:
      if (!fits) fail(name, shownText(written) + " is no number of " + fromOn(key->least));
      break;
    case KeyKind::kTruthOrWhole:
      if (!hasTruth && !isWhole) {
        fail(name, shownText(written) + " is neither true nor false nor a number of steps");
      }
      break;
    case KeyKind::kRefused:
      if (!hasTruth || truth) {
        fail(name, "it can only be false: " + std::string(key->refusal));
      }
      break;
    default:
      if (written.empty()) fail(name, "it is empty");
  }
}

std::string ConfigValues::text(const std::string& name) const {
  if (!has(name)) return "";
  if (value(name).kind != ConfigValue::Kind::kText) fail(name, "one value is meant here");
  return value(name).text;
}

bool ConfigValues::truth(const std::string& name) const {
  bool truth = false;
  if (has(name) && !isTruth(text(name), truth)) {
    fail(name, shownText(text(name)) + " is neither true nor false");
  }
  return truth;
}

int ConfigValues::whole(const std::string& name, int otherwise, int least) const {
  if (!has(name)) return otherwise;
  double number = 0;
  const bool fits = isNumber(text(name), number) && number == std::floor(number) &&
                    number >= least && number <= std::numeric_limits<int>::max();
  if (!fits) fail(name, shownText(text(name)) + " is no whole number of " + fromOn(least));
  return static_cast<int>(number);
}

std::string ConfigValues::oneOf(const std::string& name,
                                const std::vector<std::string>& choices) const {
  const std::string written = text(name);
  if (!has(name) || std::find(choices.begin(), choices.end(), written) != choices.end()) {
    return written;
  }
  std::string all;
  for (const std::string& each : choices) all += (all.empty() ? "" : ", ") + each;
  const std::string meant = nearestName(written, choices);
  fail(name, shownText(written) + " is none of " + all +
                 (meant.empty() ? "" : "; did you mean " + meant + "?"));
}

void ConfigValues::fail(const std::string& name, const std::string& why) const {
  throw Error(placeIn(file_, lineOf(name)) + ": " + shownText(keyOf(name)) + ": " + why);
}

}  // namespace pipetrace
