#include "parser/sqlite/reader.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parser/profile/argument_json.h"
#include "parser/profile/profile_metadata.h"
#include "parser/sqlite/database.h"
#include "parser/sqlite/format.h"
#include "parser/sqlite/nsys_tables.h"
#include "parser/trace_reader.h"
#include "trace/diagnostic.h"
#include "trace/error.h"
#include "trace/text/display_name.h"
#include "trace/text/log_numbers.h"
#include "trace/text/utf8.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

namespace sf = sqlite_format;

/// Sets `field` from a column: nothing for NULL. False for a value that is no number that fits.
template <typename Number>
bool getGiven(const SqliteStatement& row, int column, Number& field) {
  if (row.isNull(column)) return true;
  const std::int64_t value = row.integer(column);
  if (!row.isInteger(column) || value < std::numeric_limits<Number>::min() ||
      value > std::numeric_limits<Number>::max()) {
    return false;
  }
  field = static_cast<Number>(value);
  return true;
}

class ProfileReader {
 public:
  ProfileReader(const SqliteDatabase& database, const std::string& file, Timeline& timeline,
                Diagnostics& diagnostics)
      : database_(database), file_(file), timeline_(timeline), diagnostics_(diagnostics) {}

  void read() {
    readMeta();
    readTracks();
    readEvents();
    readCounters();
  }

 private:
  struct Place {
    int rank = 0;
    std::string lane;
  };
  using CounterKey = std::pair<int, std::string>;

  void complain(const char* message, const char* advice = "") {
    diagnostics_.add({.file = file_, .message = message, .advice = advice});
  }

  void checkDamage(const SqliteStatement& statement) {
    if (statement.failed()) {
      complain("the database is damaged; what could be read of it was read", "copy the file again");
    }
  }

  void readMeta() {
    SqliteStatement rows = database_.prepare("SELECT key, value FROM meta");
    while (rows.next()) {
      if (rows.text(0) == sf::kFormat &&
          parseNumber<int>(rows.text(1)).value_or(0) > sf::kVersion) {
        complain("the profile was written in a newer format than this program knows");
      }
      if (rows.text(0) != sf::kOurs) continue;
      const auto metadata = readProfileMetadata("{\"" + std::string(sf::kOurs) +
                                                "\":" + std::string(rows.text(1)) + "}");
      if (!metadata) {
        complain("what the profile knows of its ranks cannot be read");
        continue;
      }
      for (const auto& [rank, info] : metadata->ranks) {
        if (timeline_.ranks.contains(rank)) {
          complain("a rank of it was read from another file already; the events are put together",
                   "give the files of one run only");
        }
        timeline_.ranks[rank] = info;
      }
      for (const CounterSeries& series : metadata->counters) {
        counters_[{series.rank, series.name}] = series;
      }
    }
    checkDamage(rows);
  }

  void readTracks() {
    SqliteStatement rows = database_.prepare("SELECT id, rank, lane FROM track ORDER BY id");
    while (rows.next()) {
      if (!isRank(rows, 1) || !rows.isText(2)) {
        complain("a track has no rank or lane and was left out");
        continue;
      }
      const Place place{static_cast<int>(rows.integer(1)), toUtf8(rows.text(2))};
      timeline_.track(place.rank, place.lane);
      places_[rows.integer(0)] = place;
    }
    checkDamage(rows);
  }

  static bool isRank(const SqliteStatement& rows, int column) {
    return rows.isInteger(column) && rows.integer(column) >= 0 &&
           rows.integer(column) <= kHighestRank;
  }

  void readEvents() {
    const bool hasBubbles = database_.hasColumns(
        "bubble", {"id", "track", "class", "name", "begin_ns", "end_ns", "step", "micro_batch",
                   "stage", "chunk", "part", "number", "job", "peer", "own_name", "arguments"});
    // Files of earlier versions have no phases.
    const auto columnsOf = [&](const char* table) {
      const char* const phase = database_.hasColumns(table, {"phase"}) ? "phase" : "NULL";
      return std::string(
                 ", name, begin_ns, end_ns, step, micro_batch, stage, chunk, part, number, job, "
                 "peer, own_name, arguments, ") +
             phase + " FROM " + table;
    };
    std::string sql = "SELECT id, track, kind, 0 AS is_bubble" + columnsOf("job");
    if (hasBubbles) sql += " UNION ALL SELECT id, track, class, 1" + columnsOf("bubble");
    SqliteStatement rows = database_.prepare(sql + " ORDER BY 1");
    while (rows.next()) {
      const auto place = places_.find(rows.integer(1));
      const auto event = place == places_.end() ? std::nullopt : eventOf(rows);
      if (!event) {
        complain("a row is no job or bubble that can be used and was left out");
        continue;
      }
      eventsOf(place->first, place->second).push_back(*event);
    }
    checkDamage(rows);
  }

  /// Usually the track of the row before.
  std::vector<Event>& eventsOf(std::int64_t id, const Place& place) {
    if (last_ == nullptr || id != lastId_) {
      lastId_ = id;
      last_ = &timeline_.track(place.rank, place.lane).events;
    }
    return *last_;
  }

  std::optional<Event> eventOf(const SqliteStatement& row) {
    Event event;
    if (row.integer(3) != 0) {
      event.kind = JobKind::kBubble;
      event.bubbleClass = bubbleClassFromName(row.text(2)).value_or(BubbleClass::kUnknown);
    } else {
      event.kind = jobKindFromLogName(row.text(2));
    }
    const bool isWhole = row.isInteger(5) && row.isInteger(6) && getGiven(row, 5, event.begin) &&
                         getGiven(row, 6, event.end) && getGiven(row, 7, event.step) &&
                         getGiven(row, 8, event.microBatch) && getGiven(row, 9, event.stage) &&
                         getGiven(row, 10, event.chunk) && getGiven(row, 11, event.part) &&
                         getGiven(row, 12, event.number) && getGiven(row, 13, event.job) &&
                         getGiven(row, 14, event.peer);
    if (!isWhole || event.end < event.begin) return std::nullopt;
    if (!row.isNull(17)) event.phase = phaseFromLogName(row.text(17)).value_or(event.phase);
    if (row.integer(15) != 0) event.name = timeline_.strings.intern(toUtf8(row.text(4)));
    if (!row.isNull(16)) {
      std::vector<Argument> arguments;
      if (!argumentsFromJson(row.text(16), timeline_.strings, arguments)) {
        complain("the arguments of a row are no JSON object and were left out");
      } else if (!arguments.empty()) {
        timeline_.setArguments(event, arguments);
      }
    }
    return event;
  }

  void readCounters() {
    if (database_.hasColumns("counter", {"id", "rank", "name", "time_ns", "value"})) {
      SqliteStatement rows =
          database_.prepare("SELECT rank, name, time_ns, value FROM counter ORDER BY id");
      while (rows.next()) {
        if (!isRank(rows, 0) || !rows.isInteger(2)) {
          complain("a counter sample has no rank or time and was left out");
          continue;
        }
        const CounterKey key{static_cast<int>(rows.integer(0)), toUtf8(rows.text(1))};
        CounterSeries& series = counters_[key];
        series.rank = key.first;
        series.name = key.second;
        series.samples.push_back({rows.integer(2), rows.real(3)});
      }
      checkDamage(rows);
    }
    for (auto& [key, series] : counters_) timeline_.counters.push_back(std::move(series));
  }

  const SqliteDatabase& database_;
  const std::string& file_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::map<std::int64_t, Place> places_;
  std::map<CounterKey, CounterSeries> counters_;
  std::int64_t lastId_ = 0;
  std::vector<Event>* last_ = nullptr;
};

/// Whether the database is a profile that writeSqlite() wrote.
bool isSqliteProfile(const SqliteDatabase& database) {
  return database.hasColumns(
             "job", {"id", "track", "kind", "name", "begin_ns", "end_ns", "step", "micro_batch",
                     "stage", "chunk", "part", "number", "job", "peer", "own_name", "arguments"}) &&
         database.hasColumns("meta", {"key", "value"}) &&
         database.hasColumns("track", {"id", "rank", "lane"});
}

/// Adds it to `timeline`. Rows that make no sense, and rows after a damaged page, are counted in
/// `diagnostics` under the name `file`. Throws Error when a table cannot be read.
void readSqliteProfile(const SqliteDatabase& database, const std::string& file, Timeline& timeline,
                       Diagnostics& diagnostics) {
  ProfileReader(database, file, timeline, diagnostics).read();
}

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
