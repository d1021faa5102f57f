#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "parser/foreign/names/name_pattern.h"
#include "parser/foreign/names/name_table.h"
#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// The names that one program gives its jobs. They include those that mean something else in other
/// programs.
class NamePreset : public NameTable {
 public:
  explicit NamePreset(const TracedProgram& program);

  std::optional<JobName> find(std::string_view name) const override;
  bool isOfUser() const override { return false; }

 private:
  std::list<NamePattern> patterns_;  // they do not move
};

/// The words for --kinds: "torch", "megatron", ...
std::vector<std::string> namePresets();

/// The preset of that word; null if there is none. It lives as long as the program.
const NamePreset* findNamePreset(std::string_view word);

}  // namespace pipetrace
