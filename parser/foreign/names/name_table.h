#pragma once

#include <optional>
#include <string_view>

#include "parser/foreign/names/known_names.h"

namespace pipetrace {

/// Gives names of other programs' jobs their meaning: a file of the user's, a preset, or all that
/// --kinds asks for. Any number of threads may use one at once.
class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) = default;
  NameTable(NameTable&&) = default;
  NameTable& operator=(const NameTable&) = default;
  NameTable& operator=(NameTable&&) = default;
  virtual ~NameTable() = default;

  /// The kind and numbers of a name; nothing for an unknown name.
  virtual std::optional<JobName> find(std::string_view name) const = 0;

  /// Whether it holds names of the user's own, which take precedence over what a trace itself says.
  virtual bool isOfUser() const = 0;
};

}  // namespace pipetrace
