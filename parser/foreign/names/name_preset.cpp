#include "parser/foreign/names/name_preset.h"

#include <map>

namespace pipetrace {

NamePreset::NamePreset(const TracedProgram& program) {
  for (const auto rows : {program.names(), program.libraryNames()}) {
    for (const NameRow& row : rows) patterns_.emplace_back(row.pattern, row.kind);
  }
}

std::optional<JobName> NamePreset::find(std::string_view name) const {
  for (const NamePattern& pattern : patterns_) {
    if (auto job = pattern.match(name)) return job;
  }
  return std::nullopt;
}

std::vector<std::string> namePresets() {
  std::vector<std::string> words;
  for (const TracedProgram& program : kTracedPrograms) {
    if (!program.preset.empty()) words.emplace_back(program.preset);
  }
  return words;
}

const NamePreset* findNamePreset(std::string_view word) {
  static const std::map<std::string_view, NamePreset> presets = [] {
    std::map<std::string_view, NamePreset> map;
    for (const TracedProgram& program : kTracedPrograms) {
      if (!program.preset.empty()) map.try_emplace(program.preset, program);
    }
    return map;
  }();
  const auto found = presets.find(word);
  return found == presets.end() ? nullptr : &found->second;
}

}  // namespace pipetrace
