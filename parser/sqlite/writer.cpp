#include "parser/sqlite/writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "parser/profile/argument_json.h"
#include "parser/profile/profile_metadata.h"
#include "parser/sqlite/database.h"
#include "parser/sqlite/format.h"
#include "trace/checked_span.h"
#include "trace/error.h"
#include "trace/step_windows.h"
#include "trace/text/display_name.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

namespace sf = sqlite_format;

void bindGiven(SqliteStatement& statement, int parameter, std::int64_t value) {
  if (value == kNotGiven) {
    statement.bindNull(parameter);
  } else {
    statement.bind(parameter, value);
  }
}

/// NULL for training.
void bindPhase(SqliteStatement& statement, int parameter, Phase phase) {
  if (phase == Phase::kTraining) {
    statement.bindNull(parameter);
  } else {
    statement.bind(parameter, logName(phase));
  }
}

/// The tables job and bubble: twenty columns, of which one differs.
class EventTable {
 public:
  EventTable(const SqliteDatabase& database, std::string_view table)
      : insert_(database.prepare("INSERT INTO " + std::string(table) +
                                 " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,"
                                 "?17,?18,?19,?20)")) {}

  void add(std::int64_t id, std::int64_t trackId, const Track& track, const Timeline& timeline,
           const Event& event) {
    const bool isBubble = event.kind == JobKind::kBubble;
    const std::string lane = toUtf8(track.lane);
    const std::string name = toUtf8(displayName(timeline, event));
    const std::string arguments = argumentsToJson(timeline, event);
    insert_.bind(0, id);
    insert_.bind(1, trackId);
    insert_.bind(2, std::int64_t{track.rank});
    insert_.bind(3, lane);
    insert_.bind(4, isBubble ? bubbleClassName(event.bubbleClass) : logName(event.kind));
    insert_.bind(5, name);
    insert_.bind(6, event.begin);
    insert_.bind(7, event.end);
    insert_.bind(8, event.duration());
    bindGiven(insert_, 9, event.step);
    bindGiven(insert_, 10, event.microBatch);
    bindGiven(insert_, 11, event.stage);
    bindGiven(insert_, 12, event.chunk);
    bindGiven(insert_, 13, event.part);
    bindGiven(insert_, 14, event.number);
    bindGiven(insert_, 15, event.job);
    bindGiven(insert_, 16, event.peer);
    insert_.bind(17, std::int64_t{event.name != 0});
    if (arguments.empty()) {
      insert_.bindNull(18);
    } else {
      insert_.bind(18, arguments);
    }
    bindPhase(insert_, 19, event.phase);
    insert_.run();
  }

 private:
  SqliteStatement insert_;
};

void writeSteps(const SqliteDatabase& database, const Timeline& timeline) {
  SqliteStatement insert =
      database.prepare("INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  std::vector<StepWindow> steps = stepWindows(timeline);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepWindow& a, const StepWindow& b) { return a.step < b.step; });
  for (const StepWindow& step : steps) {
    insert.bind(0, std::int64_t{step.step});
    insert.bind(1, std::int64_t{step.replica});
    insert.bind(2, step.begin);
    insert.bind(3, step.end);
    insert.bind(4, step.duration());
    insert.bind(5, step.window());
    insert.bind(6, step.betweenSteps);
    bindPhase(insert, 7, step.phase);
    insert.run();
  }
}

void writeMeta(const SqliteDatabase& database, const Timeline& timeline) {
  std::string ours;
  appendProfileMetadata(ours, timeline, timeline.span().begin);
  const std::string version = std::to_string(sf::kVersion);
  SqliteStatement insert = database.prepare("INSERT INTO meta VALUES (?1, ?2)");
  for (const auto& [key, value] : {std::pair(sf::kFormat, std::string_view(version)),
                                   std::pair(sf::kOurs, std::string_view(ours))}) {
    insert.bind(0, key);
    insert.bind(1, value);
    insert.run();
  }
}

void writeEvents(const SqliteDatabase& database, const Timeline& timeline,
                 ProfileSummary& summary) {
  SqliteStatement insertTrack = database.prepare("INSERT INTO track VALUES (?1, ?2, ?3)");
  EventTable jobs(database, "job");
  EventTable bubbles(database, "bubble");
  std::int64_t id = 0;
  std::int64_t trackId = 0;
  for (const Track& track : timeline.tracks) {
    const std::string lane = toUtf8(track.lane);
    insertTrack.bind(0, ++trackId);
    insertTrack.bind(1, std::int64_t{track.rank});
    insertTrack.bind(2, lane);
    insertTrack.run();
    for (const Event& event : track.events) {
      summary.add(track, event);
      // One numbering for both tables keeps the order of a lane that is in both.
      (event.kind == JobKind::kBubble ? bubbles : jobs).add(++id, trackId, track, timeline, event);
    }
  }
}

void writeCounters(const SqliteDatabase& database, const Timeline& timeline,
                   ProfileSummary& summary) {
  SqliteStatement insert =
      database.prepare("INSERT INTO counter (rank, name, time_ns, value) VALUES (?1, ?2, ?3, ?4)");
  for (const CounterSeries& series : timeline.counters) {
    const std::string name = toUtf8(series.name);
    for (const CounterSample& sample : series.samples) {
      if (!std::isfinite(sample.value)) continue;  // those are in meta
      ++summary.counters;
      insert.bind(0, std::int64_t{series.rank});
      insert.bind(1, name);
      insert.bind(2, sample.time);
      insert.bind(3, sample.value);
      insert.run();
    }
  }
}

void copyFile(int from, OutputFile& to) {
  std::vector<char> piece(std::size_t{1} << 18);
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(from, piece.data(), piece.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("cannot read back a temporary file: " + std::string(strerror(errno)));
    if (n == 0) return;
    to.write({piece.data(), static_cast<std::size_t>(n)});
    at += n;
  }
}

}  // namespace

ProfileSummary writeSqlite(const Timeline& timeline, OutputFile& out) {
  checkedSpan(timeline);
  ProfileSummary summary;
  const SqliteDatabase database = SqliteDatabase::temporary();
  for (const std::string_view table : sf::kTables) database.run(table);
  database.run("BEGIN");
  writeMeta(database, timeline);
  writeEvents(database, timeline, summary);
  writeSteps(database, timeline);
  writeCounters(database, timeline, summary);
  database.run("COMMIT");
  copyFile(database.fileDescriptor(), out);
  return summary;
}

}  // namespace pipetrace
