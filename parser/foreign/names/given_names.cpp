#include "parser/foreign/names/given_names.h"

namespace pipetrace {

GivenNames::GivenNames(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (const NamePreset* const preset = findNamePreset(word)) {
      presets_.push_back(preset);
    } else {
      files_.push_back(KindsFile::read(word));
    }
  }
}

std::optional<JobName> GivenNames::find(std::string_view name) const {
  for (const KindsFile& file : files_) {
    if (auto job = file.find(name)) return job;
  }
  for (const NamePreset* const preset : presets_) {
    if (auto job = preset->find(name)) return job;
  }
  return std::nullopt;
}

}  // namespace pipetrace
