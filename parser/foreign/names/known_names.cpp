#include "parser/foreign/names/known_names.h"

#include <list>
#include <span>

#include "parser/foreign/names/name_pattern.h"
#include "parser/foreign/names/programs/programs.h"
#include "parser/job_type.h"

namespace pipetrace {
namespace {

/// The rows that count without a preset.
std::list<NamePattern> unambiguousNames() {
  std::list<NamePattern> list;
  const auto add = [&](std::span<const NameRow> rows) {
    for (const NameRow& row : rows) {
      if (row.use == NameUse::kAlways) list.emplace_back(row.pattern, row.kind);
    }
  };
  for (const TracedProgram& program : kTracedPrograms) add(program.names());
  add(commonNames());
  return list;
}

JobName knownName(std::string_view name) {
  const JobType type = parseJobType(name);
  if (type.kind != JobKind::kOther) {
    JobName job;
    job.kind = type.kind;
    job.chunk = type.chunk;
    job.part = type.part;
    return job;
  }
  static const std::list<NamePattern> patterns = unambiguousNames();
  for (const NamePattern& pattern : patterns) {
    if (const auto job = pattern.match(name)) return *job;
  }
  return {};
}

}  // namespace

bool JobNames::isAsked() const { return given_ != nullptr && given_->isOfUser(); }

const JobName& JobNames::operator[](std::string_view name) {
  const auto [found, isNew] = known_.try_emplace(std::string(name));
  if (!isNew || name.empty()) return found->second;
  std::optional<JobName> given;
  if (given_ != nullptr) given = given_->find(name);
  found->second = given ? *given : knownName(name);
  return found->second;
}

}  // namespace pipetrace
