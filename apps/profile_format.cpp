#include "apps/profile_format.h"

#include <fmt/format.h>

#include <filesystem>

#include "parser/chrome_writer.h"
#include "parser/csv_writer.h"
#include "parser/perfetto_writer.h"
#include "parser/sqlite_writer.h"

namespace pipetrace {
namespace {

struct Named {
  std::string_view name;
  std::string_view what;
  ProfileFormat format;
};

constexpr Named kFormats[] = {
    {"json", "Chrome Trace Event JSON", ProfileFormat::kChromeJson},
    {"pftrace", "Perfetto protobuf", ProfileFormat::kPerfetto},
    {"sqlite", "SQLite database", ProfileFormat::kSqlite},
    {"csv", "a line per event", ProfileFormat::kCsv},
};

}  // namespace

std::vector<std::string> profileFormatNames() {
  std::vector<std::string> names;
  for (const Named& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string profileFormatList() {
  std::string list;
  for (const Named& format : kFormats) {
    list += fmt::format("{}NAME.{} ({})", list.empty() ? "" : ", ", format.name, format.what);
  }
  return list;
}

std::optional<ProfileFormat> profileFormatOf(std::string_view name) {
  for (const Named& format : kFormats) {
    if (format.name == name) return format.format;
  }
  return std::nullopt;
}

std::optional<ProfileFormat> profileFormatOfFile(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  return ending.empty() ? std::nullopt : profileFormatOf(std::string_view(ending).substr(1));
}

ProfileSummary writeProfile(const Timeline& timeline, ProfileFormat format,
                            const ProfileOptions& options, OutputFile& out) {
  switch (format) {
    case ProfileFormat::kPerfetto:
      return writePerfetto(timeline,
                           {.flows = options.flows,
                            .absoluteTime = options.absoluteTime,
                            .threads = options.threads},
                           out);
    case ProfileFormat::kSqlite: return writeSqlite(timeline, out);
    case ProfileFormat::kCsv: return writeCsv(timeline, out);
    case ProfileFormat::kChromeJson: break;
  }
  const ChromeSummary written = writeChromeJson(
      timeline,
      {.flows = options.flows, .absoluteTime = options.absoluteTime, .threads = options.threads},
      out);
  return {.jobs = written.jobs,
          .transfers = written.transfers,
          .bubbles = written.bubbles,
          .arrows = written.arrows,
          .counters = written.counters};
}

}  // namespace pipetrace
