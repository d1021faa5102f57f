#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/event.h"

namespace pipetrace {

/// A name of an event, taken apart.
struct JobName {
  JobKind kind = JobKind::kOther;
  std::int32_t step = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int32_t stage = kNotGiven;
  std::int16_t chunk = kNotGiven;
  std::int16_t part = kNotGiven;
  bool isAsked = false;  ///< a file of --kinds gave it

  bool operator==(const JobName&) const = default;
};

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

/// Looks up names of other programs' traces: first among those that --kinds gave, then among the
/// words of the job log, then among unambiguous names of known programs. It remembers its results;
/// not thread-safe.
class JobNames {
 public:
  /// `given` may be null and must outlive it.
  explicit JobNames(const NameTable* given) : given_(given) {}

  /// The meaning of `name`; kOther without numbers if it says nothing. The reference holds as long
  /// as this object.
  const JobName& operator[](std::string_view name);

  /// Whether the user gave a file of kinds.
  bool isAsked() const;

 private:
  const NameTable* given_;
  std::unordered_map<std::string, JobName> known_;
};

}  // namespace pipetrace
