#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parser/foreign/names/kinds_file.h"
#include "parser/foreign/names/name_preset.h"
#include "parser/foreign/names/name_table.h"

namespace pipetrace {

/// All that --kinds asks for: the user's files in their order, then presets in theirs. The first
/// that knows a name counts.
class GivenNames : public NameTable {
 public:
  /// Each word is a preset, or else the name of a file. Throws Error as KindsFile::read() does.
  explicit GivenNames(const std::vector<std::string>& words);

  std::optional<JobName> find(std::string_view name) const override;
  bool isOfUser() const override { return !files_.empty(); }

 private:
  std::vector<KindsFile> files_;
  std::vector<const NamePreset*> presets_;
};

}  // namespace pipetrace
