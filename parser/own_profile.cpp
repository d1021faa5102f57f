#include "parser/own_profile.h"

#include <string>

#include "parser/chrome/format.h"
#include "parser/perfetto/format.h"
#include "parser/profile/common_format.h"

namespace pipetrace {
namespace {

namespace cf = common_format;
namespace pf = perfetto_format;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The name of the metadata that a Perfetto profile begins with, and the tag of its text.
const std::string& entryOfPerfetto() {
  constexpr auto tagOfBytes = [](std::uint32_t field) { return static_cast<char>(field << 3 | 2); };
  static const std::string entry = tagOfBytes(pf::metadata::kName) +
                                   std::string(1, static_cast<char>(pf::metadata::kOurs.size())) +
                                   std::string(pf::metadata::kOurs) +
                                   tagOfBytes(pf::metadata::kText);
  return entry;
}

}  // namespace

bool isOwnProfile(std::string_view head) {
  constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
  // The first page holds the statements that made the tables.
  if (head.starts_with(kSqliteMagic)) {
    return holds(head, "CREATE TABLE job (") && holds(head, "CREATE TABLE bubble (");
  }
  static const std::string ours =
      "\"" + std::string(chrome_format::kOtherData) + "\":{\"" + std::string(cf::kOurs) + "\":{";
  static const std::string ofProcess =
      "\"" + std::string(cf::kOurs) + "\":\"{\\\"" + std::string(cf::kFormat) + "\\\":";
  return holds(head, ours) || holds(head, ofProcess) || holds(head, entryOfPerfetto());
}

bool isPaddleProfileName(std::string_view fileName) {
  return fileName == "pipeline_profile.json" || fileName == "pipeline_profile_perfetto.json";
}

}  // namespace pipetrace
