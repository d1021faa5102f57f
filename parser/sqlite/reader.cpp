#include "parser/sqlite/reader.h"

#include <vector>

#include "parser/sqlite/database.h"
#include "parser/sqlite/nsys_tables.h"
#include "parser/sqlite/profile.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

std::string allOf(ByteSource& source) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string bytes;
  for (std::size_t used = 0;;) {
    if (bytes.size() - used < kPiece) bytes.resize(2 * bytes.size() + kPiece);
    const std::size_t got = source.read(bytes.data() + used, bytes.size() - used);
    used += got;
    if (got > 0) continue;
    bytes.resize(used);
    return bytes;
  }
}

/// Returns the explanation for the case that no event was read.
const char* readTables(const SqliteDatabase& database, const ByteSource& source,
                       const ReadRequest& request, Timeline& timeline, Diagnostics& diagnostics,
                       RecordedProcess& process) {
  if (isSqliteProfile(database)) {
    readSqliteProfile(database, source.name(), timeline, diagnostics);
    return "it is an SQLite profile whose tables are empty";
  }
  if (isNsysExport(database)) {
    process.isRankGuessed = readNsysExport(database, source.name(), request, timeline, diagnostics);
    return "it is an export of Nsight Systems without NVTX ranges, kernels and copies";
  }
  return "it is an SQLite database, but neither a profile nor an export of Nsight Systems";
}

}  // namespace

FormatMatch SqliteReader::probe(std::string_view head) const {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return head.starts_with(kMagic) ? FormatMatch::kCertain : FormatMatch::kNo;
}

ReadOutcome SqliteReader::read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                               Diagnostics& diagnostics) const {
  if (request.run >= 0) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "a profile holds one run only, which was read whatever --run says"});
  }
  ReadOutcome outcome;
  const auto database = SqliteDatabase::fromBytes(allOf(source));
  if (!database) {
    diagnostics.add({.file = source.name(),
                     .message = "the database is damaged and could not be opened",
                     .advice = "copy or export it again"});
    outcome.whyNone = "it is an SQLite database that is damaged";
    return outcome;
  }
  const std::size_t before = timeline.eventCount();
  try {
    outcome.whyNone =
        readTables(*database, source, request, timeline, diagnostics, outcome.process);
  } catch (const Error&) {
    // The schema contradicts itself, or reading takes more work than for any good database.
    diagnostics.add({.file = source.name(),
                     .message = "the database is damaged; what could be read of it was read",
                     .advice = "copy or export it again"});
    outcome.whyNone = "it is an SQLite database that is damaged";
  }
  outcome.events = static_cast<std::int64_t>(timeline.eventCount() - before);
  if (outcome.events > 0) outcome.whyNone.clear();
  return outcome;
}

}  // namespace pipetrace
