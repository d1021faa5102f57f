#include "runtime/engine/config/config_keys.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr std::string_view kMessagesWhole = "messages between stages travel as they are";
constexpr std::string_view kNoMigration = "blocks stay on the stage that they began on";
constexpr std::string_view kNoSwap =
    "nothing is swapped out to the host; recompute_ratio of the partition saves memory";

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

}  // namespace pipetrace
