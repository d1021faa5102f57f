#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "parser/foreign/names/name_pattern.h"

namespace pipetrace {

/// What the names of another program's jobs mean, as the user says it: the file of --kinds,
///
///     {"kinds": {"fwd": "forward", "bwd_(?P<micro_batch_id>\\d+)": "backward"}}
///
/// Each key is a name, or a regular expression (RE2) for the whole of one, see NamePattern; each
/// value a kind as in the job log. A name that is a key means that; else the first expression that
/// matches counts. Any number of threads may use one at once.
class KindNames {
 public:
  /// Reads the file. Throws Error, which says where what is wrong, when it cannot.
  static KindNames read(const std::string& file);

  /// The same from its text; `file` is for messages.
  static KindNames parse(std::string_view json, const std::string& file);

  /// Nothing for a name that it does not know.
  std::optional<JobName> find(std::string_view name) const;

 private:
  void add(const std::string& name, JobKind kind);

  std::map<std::string, JobKind, std::less<>> names_;
  std::list<NamePattern> patterns_;  // in the order of the file; they do not move
};

}  // namespace pipetrace
