#include "analysis/present/diagnostic_lines.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/log/log_format.h"
#include "trace/text/log_numbers.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// A diagnostic that at least this number of files share is printed once.
constexpr std::size_t kMany = 3;

/// The most shares in a line.
constexpr std::size_t kMostShares = 16;

using Alike = std::vector<const Diagnostic*>;
using Kind = std::pair<Severity, std::string>;

Kind kindOf(const Diagnostic& diagnostic) {
  return {diagnostic.severity,
          diagnostic.ofSeveral.empty() ? diagnostic.message : diagnostic.ofSeveral};
}

std::set<std::string> filesOf(const Alike& alike) {
  std::set<std::string> files;
  for (const Diagnostic* const each : alike) files.insert(each->file);
  return files;
}

/// The diagnostics that many files share, by kind.
std::map<Kind, Alike> byKind(const Diagnostics& diagnostics) {
  std::map<Kind, Alike> kinds;
  for (const Diagnostic& each : diagnostics.list()) {
    if (!each.file.empty()) kinds[kindOf(each)].push_back(&each);
  }
  std::erase_if(kinds, [](const auto& kind) { return filesOf(kind.second).size() < kMany; });
  return kinds;
}

/// A file of a rank: "logs/workerlog." "3" ".ring".
struct RankFile {
  std::string before;
  int rank = 0;
  std::string after;
};

std::optional<RankFile> rankFileOf(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (!name.starts_with(log_format::kFilePrefix)) return std::nullopt;
  const std::size_t at = path.size() - name.size() + log_format::kFilePrefix.size();
  RankFile file{.before = path.substr(0, at)};
  const char* const end = path.data() + path.size();
  const auto [rest, error] = std::from_chars(path.data() + at, end, file.rank);
  if (error != std::errc() || file.rank < 0) return std::nullopt;
  file.after.assign(rest, end);
  return file;
}

std::string filesText(const Alike& alike, bool namesRanks) {
  const std::set<std::string> files = filesOf(alike);
  std::set<int> ranks;
  const std::optional<RankFile> first = rankFileOf(alike.front()->file);
  for (const std::string& each : files) {
    const std::optional<RankFile> file = rankFileOf(each);
    if (!file || file->before != first->before || file->after != first->after) break;
    ranks.insert(file->rank);
  }
  if (ranks.size() == files.size()) {
    const std::string text = first->before + "*" + first->after;
    return namesRanks ? text + " (" + ranksText({ranks.begin(), ranks.end()}) + ")" : text;
  }
  return alike.front()->file + " and " + std::to_string(files.size() - 1) + " more files";
}

/// "rank 0 F2, rank 1 B1 and 112 more"
std::string sharesText(const Alike& alike) {
  std::vector<std::string> shares;
  for (const Diagnostic* const each : alike) {
    if (!each->share.empty()) shares.push_back(each->share);
  }
  std::string text;
  const std::size_t shown = std::min(shares.size(), kMostShares);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + shares[i];
  if (shown < shares.size()) text += " and " + std::to_string(shares.size() - shown) + " more";
  return text;
}

Diagnostic together(const Alike& alike) {
  Diagnostic all = *alike.front();
  const std::string shares = sharesText(alike);
  all.file = filesText(alike, shares.empty());
  all.line = 0;
  all.message = kindOf(all).second;
  if (!shares.empty()) all.message += ": " + shares;
  std::int64_t cases = 0;
  for (const Diagnostic* const each : alike) {
    cases = addCounts(cases, each->count);
    if (each->advice != all.advice) all.advice.clear();
  }
  const bool isOncePerFile = cases == static_cast<std::int64_t>(alike.size());
  all.count = isOncePerFile ? 1 : cases;
  if (!all.ofSeveral.empty() && all.advice.empty()) {
    all.advice = "pipe-trace info --json lists each";
  }
  return all;
}

}  // namespace

std::vector<Diagnostic> joinedDiagnostics(const Diagnostics& diagnostics, Severity lowest) {
  const std::map<Kind, Alike> kinds = byKind(diagnostics);
  std::vector<Diagnostic> joined;
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity < lowest) continue;
    const auto found = diagnostic.file.empty() ? kinds.end() : kinds.find(kindOf(diagnostic));
    const bool isOfMany = found != kinds.end();
    if (isOfMany && found->second.front() != &diagnostic) continue;
    joined.push_back(isOfMany ? together(found->second) : diagnostic);
  }
  return joined;
}

std::vector<std::string> diagnosticLines(const Diagnostics& diagnostics, Severity lowest) {
  std::vector<std::string> lines;
  for (const Diagnostic& each : joinedDiagnostics(diagnostics, lowest)) {
    lines.push_back(toText(each));
  }
  return lines;
}

}  // namespace pipetrace
