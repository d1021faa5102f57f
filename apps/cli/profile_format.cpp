#include "apps/cli/profile_format.h"

#include <fmt/format.h>

#include <cassert>
#include <filesystem>

#include "apps/cli/command_app.h"
#include "parser/chrome/write/writer.h"
#include "parser/csv_writer.h"
#include "parser/perfetto/writer.h"
#include "parser/sqlite/writer.h"

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
    {"svg", "Gantt chart", ProfileFormat::kSvg},
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

void adviseOnFormats(CommandApp& app) {
  app.adviseOn([](const std::string& argument) {
    const bool isFormat =
        argument.starts_with("--") && profileFormatOf(std::string_view(argument).substr(2));
    return isFormat ? "-o NAME." + argument.substr(2) : std::string();
  });
}

std::optional<ProfileFormat> profileFormatOf(std::string_view name) {
  for (const Named& format : kFormats) {
    if (format.name == name) return format.format;
  }
  return std::nullopt;
}

std::optional<ProfileFormat> profileFormatOfFile(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension();
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return ending.empty() ? std::nullopt : profileFormatOf(std::string_view(ending).substr(1));
}

ProfileSummary writeProfile(const Timeline& timeline, ProfileFormat format,
                            const ProfileOptions& options, OutputFile& out) {
  assert(format != ProfileFormat::kSvg);
  switch (format) {
    case ProfileFormat::kPerfetto:
      return writePerfetto(timeline,
                           {.flows = options.flows,
                            .absoluteTime = options.absoluteTime,
                            .threads = options.threads},
                           out);
    case ProfileFormat::kSqlite: return writeSqlite(timeline, out);
    case ProfileFormat::kCsv: return writeCsv(timeline, out, options.csvSafe);
    case ProfileFormat::kChromeJson:
    case ProfileFormat::kSvg: break;
  }
  return writeChromeJson(
      timeline,
      {.flows = options.flows, .absoluteTime = options.absoluteTime, .threads = options.threads},
      out);
}

std::string summaryText(const ProfileSummary& written) {
  std::string text = fmt::format("{} jobs, {} transfers", written.jobs, written.transfers);
  if (written.others > 0) text += fmt::format(", {} other events", written.others);
  return text + fmt::format(", {} bubbles, {} arrows, {} counter samples", written.bubbles,
                            written.arrows, written.counters);
}

}  // namespace pipetrace
