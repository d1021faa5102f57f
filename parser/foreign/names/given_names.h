#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/foreign/names/known_names.h"
#include "parser/foreign/names/name_pattern.h"
#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// The kinds that the user gives to the names of another program's jobs: a file of --kinds,
///
///     {"kinds": {"fwd": "forward", "bwd_(?P<micro_batch_id>\\d+)": "backward"}}
///
/// Each key is a name, or a regular expression (RE2) for a whole name, see NamePattern; each value
/// is a kind as in the job log. A name that equals a key has that key's kind; otherwise the first
/// expression that matches counts.
class KindsFile : public NameTable {
 public:
  /// Reads the file. Throws Error, with the place and the fault, when it cannot.
  static KindsFile read(const std::string& file);

  /// The same from its text; `file` is for messages.
  static KindsFile parse(std::string_view json, const std::string& file);

  std::optional<JobName> find(std::string_view name) const override;
  bool isOfUser() const override { return true; }

 private:
  void add(const std::string& name, JobKind kind);

  std::map<std::string, JobKind, std::less<>> names_;
  std::list<NamePattern> patterns_;  // in the order of the file; they do not move
};

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
