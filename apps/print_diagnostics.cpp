#include "apps/print_diagnostics.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ranks_text.h"
#include "trace/add_counts.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// What that many files tell alike is told once.
constexpr std::size_t kMany = 3;

using Alike = std::vector<const Diagnostic*>;
using Kind = std::pair<Severity, std::string>;

Kind kindOf(const Diagnostic& diagnostic) {
  return {diagnostic.severity,
          diagnostic.ofSeveral.empty() ? diagnostic.message : diagnostic.ofSeveral};
}

std::map<Kind, Alike> byKind(const Diagnostics& diagnostics) {
  std::map<Kind, Alike> kinds;
  for (const Diagnostic& each : diagnostics.list()) {
    if (!each.file.empty()) kinds[kindOf(each)].push_back(&each);
  }
  return kinds;
}

/// A file of a rank: "logs/workerlog." "3" ".ring".
struct RankFile {
  std::string before;
  int rank = 0;
  std::string behind;
};

std::optional<RankFile> rankFileOf(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (!name.starts_with(log_format::kFilePrefix)) return std::nullopt;
  const std::size_t at = path.size() - name.size() + log_format::kFilePrefix.size();
  RankFile file{.before = path.substr(0, at)};
  const char* const end = path.data() + path.size();
  const auto [rest, error] = std::from_chars(path.data() + at, end, file.rank);
  if (error != std::errc() || file.rank < 0) return std::nullopt;
  file.behind.assign(rest, end);
  return file;
}

std::string filesText(const Alike& alike) {
  std::vector<int> ranks;
  const std::optional<RankFile> first = rankFileOf(alike.front()->file);
  for (const Diagnostic* const each : alike) {
    const std::optional<RankFile> file = rankFileOf(each->file);
    if (!file || file->before != first->before || file->behind != first->behind) break;
    ranks.push_back(file->rank);
  }
  if (ranks.size() == alike.size()) {
    return first->before + "*" + first->behind + " (" + ranksText(ranks) + ")";
  }
  return alike.front()->file + " and " + std::to_string(alike.size() - 1) + " more files";
}

Diagnostic together(const Alike& alike) {
  Diagnostic all = *alike.front();
  all.file = filesText(alike);
  all.line = 0;
  all.message = kindOf(all).second;
  std::int64_t cases = 0;
  for (const Diagnostic* const each : alike) {
    cases = addCounts(cases, each->count);
    if (each->advice != all.advice) all.advice.clear();
  }
  const bool isOncePerFile = cases == static_cast<std::int64_t>(alike.size());
  all.count = isOncePerFile ? 1 : cases;
  if (!all.ofSeveral.empty() && all.advice.empty()) {
    all.advice = "pipe-trace info --json tells each";
  }
  return all;
}

}  // namespace

void printDiagnostics(const Diagnostics& diagnostics, Severity lowest) {
  const std::map<Kind, Alike> kinds = byKind(diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity < lowest) continue;
    const auto found = kinds.find(kindOf(diagnostic));
    const bool isOfMany =
        !diagnostic.file.empty() && found != kinds.end() && found->second.size() >= kMany;
    if (isOfMany && found->second.front() != &diagnostic) continue;
    const std::string text = toText(isOfMany ? together(found->second) : diagnostic);
    std::fputs((text + "\n").c_str(), stderr);
  }
}

}  // namespace pipetrace
