#include <gmock/gmock.h>
#include <sqlite3.h>

#include "parser/foreign/names/given_names.h"
#include "parser/sqlite/reader.h"
#include "parser/sqlite/writer.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/reading.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Result = test::Reading;

Result readSqlite(const std::string& bytes, const ReadRequest& request = {}) {
  return test::readWith<SqliteReader>("p.sqlite", bytes, request);
}

class SqliteTest : public test::FolderTest {
 protected:
  std::string written(const Timeline& timeline) {
    OutputFile out(path("p.sqlite"));
    summary_ = writeSqlite(timeline, out);
    out.commit();
    return contents("p.sqlite");
  }

  /// The rows that SQLite itself gives for a query to that file, with a bar between columns.
  std::vector<std::string> ask(const std::string& file, const std::string& sql) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path(file).c_str(), &database), SQLITE_OK);
    std::vector<std::string> rows;
    char* error = nullptr;
    const auto keep = [](void* list, int count, char** values, char**) {
      std::string row;
      for (int i = 0; i < count; ++i) {
        row += (i == 0 ? "" : "|") + std::string(values[i] == nullptr ? "-" : values[i]);
      }
      static_cast<std::vector<std::string>*>(list)->push_back(row);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), keep, &rows, &error), SQLITE_OK) << error;
    sqlite3_close(database);
    return rows;
  }

  /// The bytes of a database that these statements make.
  std::string made(const std::string& sql) {
    std::filesystem::remove(path("made.sqlite"));
    ask("made.sqlite", sql);
    return contents("made.sqlite");
  }

  ProfileSummary summary_;
};

TEST_F(SqliteTest, ReadingAProfileBackGivesItsTimeline) {
  const Timeline timeline = test::oneFOneB(4, 8, 3);
  const std::string bytes = written(timeline);
  EXPECT_EQ(SqliteReader().probe(bytes), FormatMatch::kCertain);
  const Result r = readSqlite(bytes);
  EXPECT_EQ(test::describe(r.timeline), test::describe(timeline));
  EXPECT_EQ(r.outcome.events, static_cast<std::int64_t>(timeline.eventCount()));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST_F(SqliteTest, ReadingRandomProfilesBackGivesTheirTimelines) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Timeline timeline = test::randomTimeline(seed);
    const Result r = readSqlite(written(timeline));
    ASSERT_EQ(test::describe(r.timeline), test::describe(timeline)) << "seed " << seed;
    ASSERT_THAT(r.diagnostics, IsEmpty()) << "seed " << seed;
  }
}

TEST_F(SqliteTest, ALateStartIsReadUnderItsFormerName) {
  const Result r =
      readSqlite(test::withLaunchForSteady(written(test::oneBubble(BubbleClass::kSteady))));
  EXPECT_EQ(test::describe(r.timeline), test::describe(test::oneBubble(BubbleClass::kLateStart)));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST_F(SqliteTest, AProfileWithoutPhasesIsReadAsTraining) {
  const Timeline timeline = test::oneFOneB(2, 2, 2);
  Timeline evaluated = timeline;
  for (Track& track : evaluated.tracks) {
    for (Event& event : track.events) {
      if (event.step == 1) event.phase = Phase::kEvaluate;
    }
  }
  written(evaluated);
  EXPECT_THAT(ask("p.sqlite", "SELECT step, phase FROM step"), ElementsAre("0|-", "1|evaluate"));
  EXPECT_THAT(ask("p.sqlite", "SELECT DISTINCT phase FROM job WHERE step = 1"),
              ElementsAre("evaluate"));
  ask("p.sqlite", "ALTER TABLE job DROP COLUMN phase; ALTER TABLE bubble DROP COLUMN phase");
  EXPECT_EQ(test::describe(readSqlite(contents("p.sqlite")).timeline), test::describe(timeline));
}

TEST_F(SqliteTest, LoadingKnowsTheFormatByItsContent) {
  const Timeline timeline = test::oneFOneB(2, 2, 1);
  write("noname", written(timeline));
  Diagnostics diagnostics;
  EXPECT_EQ(test::describe(test::loadTimeline({path("noname")}, {}, diagnostics)),
            test::describe(timeline));
}

TEST_F(SqliteTest, JobsBubblesStepsAndCountersCanBeQueriedWithSql) {
  Timeline t = test::oneFOneB(2, 2, 2);
  Event bubble;
  bubble.kind = JobKind::kBubble;
  bubble.bubbleClass = BubbleClass::kDrain;
  bubble.begin = test::kEpoch;
  bubble.end = test::kEpoch + 40;
  bubble.step = 0;
  t.track(1, kBubbleLane).events.push_back(bubble);
  t.sort();
  written(t);
  EXPECT_THAT(
      ask("p.sqlite",
          "SELECT kind, count(*), min(duration_ns) FROM job WHERE rank = 1 "
          "AND lane = 'compute' GROUP BY kind ORDER BY kind"),
      ElementsAre("backward|4|20000003", "forward|4|10000001", "lr|2|1000", "optimizer|2|2000000"));
  EXPECT_THAT(ask("p.sqlite", "SELECT rank, class, duration_ns FROM bubble"),
              ElementsAre("1|drain|40"));
  EXPECT_THAT(ask("p.sqlite",
                  "SELECT json_extract(arguments, '$.action'), name FROM job WHERE "
                  "kind = 'forward' AND step = 1 AND rank = 0 ORDER BY begin_ns"),
              ElementsAre("0F0|forward 0", "0F1|forward 1"));
  EXPECT_THAT(
      ask("p.sqlite", "SELECT rank, lane FROM track ORDER BY id"),
      ElementsAre("0|compute", "0|recv", "0|send", "1|compute", "1|bubbles", "1|recv", "1|send"));
  EXPECT_THAT(ask("p.sqlite", "SELECT name, count(*) FROM counter GROUP BY name"),
              ElementsAre("loss|4", "memory|4"));
  // From the first forward on rank 0, to the last optimizer.
  EXPECT_EQ(ask("p.sqlite", "SELECT step, replica, begin_ns, end_ns, duration_ns FROM step"),
            ask("p.sqlite",
                "SELECT step, 0, min(begin_ns) FILTER (WHERE kind IN ('forward', 'backward')), "
                "max(end_ns), max(end_ns) - min(begin_ns) FILTER (WHERE kind IN ('forward', "
                "'backward')) FROM job WHERE lane = 'compute' GROUP BY step"));
  EXPECT_THAT(ask("p.sqlite", "SELECT * FROM step"), SizeIs(2));
  EXPECT_EQ(summary_.bubbles, 1);
  EXPECT_EQ(summary_.jobs, 2 * 2 * 6);
  EXPECT_EQ(summary_.counters, 8);
}

TEST_F(SqliteTest, CutOffAndDamagedDatabasesAreReportedAndBreakNothing) {
  const std::string bytes = written(test::oneFOneB(2, 8, 4));
  const auto whole = readSqlite(bytes).outcome.events;
  for (std::size_t size = 16; size < bytes.size(); size += 3001) {
    const Result r = readSqlite(bytes.substr(0, size));
    EXPECT_TRUE(!r.diagnostics.empty() || r.outcome.events == whole) << size;
  }
  for (std::size_t at = 4096; at < bytes.size(); at += 4096) {
    std::string damaged = bytes;
    damaged.replace(at, 512, 512, '\xa5');
    const Result r = readSqlite(damaged);
    EXPECT_TRUE(!r.diagnostics.empty() || r.outcome.events == whole) << at;
  }
}

TEST_F(SqliteTest, OtherDatabasesAreExplained) {
  EXPECT_THAT(readSqlite(made("CREATE TABLE a (b); INSERT INTO a VALUES (1)")).outcome.whyNone,
              HasSubstr("neither a profile nor"));
  // A view runs code of its author: here, without end.
  EXPECT_THAT(
      readSqlite(made("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL "
                      "SELECT start + 1 FROM c) SELECT start, start AS end, 59 AS eventType, "
                      "'x' AS text, 1 AS globalTid FROM c"))
          .outcome.whyNone,
      HasSubstr("neither a profile nor"));
}

TEST_F(SqliteTest, RowsThatMakeNoSenseAreLeftOut) {
  written(test::oneFOneB(1, 2, 1));
  ask("p.sqlite",
      "UPDATE job SET end_ns = begin_ns - 1 WHERE id = 1; UPDATE job SET begin_ns = 'x' WHERE id "
      "= 2; UPDATE job SET track = 99 WHERE id = 3; UPDATE job SET chunk = 1 << 40 WHERE id = 4; "
      "UPDATE job SET arguments = '[' WHERE id = 5");
  const Result r = readSqlite(contents("p.sqlite"));
  EXPECT_EQ(r.outcome.events, 2);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("was left out (4 times)"),
                                         HasSubstr("arguments of a row are no JSON object")));
}

/// The tables as Nsight Systems makes them, fewer columns.
constexpr const char* kNsysTables =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
    "rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
    "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
    "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, "
    "shortName INTEGER NOT NULL, mangledName INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
    "correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL);"
    "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, "
    "localTime TEXT);";

// Process 70 and 80 of machine 1, threads 71 and 81.
constexpr const char* kNsysRows =
    "INSERT INTO StringIds VALUES (1, 'gemm_128x64'), (2, 'void gemm<...>'), (3, 'main'), "
    "(4, 'forward');"
    "INSERT INTO NVTX_EVENTS VALUES "
    "(100, 200, 59, NULL, NULL, NULL, 'step 1', (1<<48)+(70<<24)+71, NULL, NULL, 0),"
    "(110, 120, 59, NULL, NULL, NULL, NULL, (1<<48)+(70<<24)+71, NULL, 4, 0),"
    "(130, 190, 60, 7, NULL, NULL, 'range', (1<<48)+(80<<24)+81, (1<<48)+(80<<24)+82, NULL, 0),"
    "(140, NULL, 34, NULL, NULL, NULL, 'mark', (1<<48)+(70<<24)+71, NULL, NULL, 0),"
    "(150, NULL, 59, NULL, NULL, NULL, 'open', (1<<48)+(70<<24)+71, NULL, NULL, 0),"
    "(160, 155, 59, NULL, NULL, NULL, 'backwards', (1<<48)+(70<<24)+71, NULL, NULL, 0);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
    "(115, 150, 0, 1, 7, 9, (1<<48)+(70<<24), 2, 1, NULL),"
    "(116, 151, 1, 1, 7, 9, (1<<48)+(80<<24), 2, 1, NULL);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
    "(160, 170, 0, 1, 14, 9, (1<<48)+(70<<24), 4096, 1);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, (1<<48)+(70<<24)+71, 3);"
    "INSERT INTO ThreadNames VALUES (3, 0, (1<<48)+(70<<24)+71);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '');";

TEST_F(SqliteTest, NsysRangesKernelsAndCopiesBecomeLanesOfTheirProcess) {
  const Result r = readSqlite(made(std::string(kNsysTables) + kNsysRows), {.nextRank = 2});
  EXPECT_EQ(r.outcome.events, 6);
  const auto name = [&](const Event& e) { return std::string(r.timeline.strings[e.name]); };
  constexpr Nanoseconds kStart = 1'700'000'000'000'000'000;

  const auto& ranges = r.events(2, "nvtx main (thread 71)");
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(name(ranges[0]), "step 1");
  EXPECT_EQ(ranges[0].begin, kStart + 100);
  EXPECT_EQ(ranges[0].end, kStart + 200);
  EXPECT_EQ(ranges[1].kind, JobKind::kForward);
  EXPECT_THAT(r.events(3, "nvtx thread 81"), SizeIs(1));

  ASSERT_THAT(r.events(2, "device 0 stream 7"), SizeIs(1));
  EXPECT_EQ(r.events(2, "device 0 stream 7")[0].kind, JobKind::kKernel);
  EXPECT_EQ(name(r.events(2, "device 0 stream 7")[0]), "gemm_128x64");
  EXPECT_THAT(r.events(3, "device 1 stream 7"), SizeIs(1));

  ASSERT_THAT(r.events(2, "device 0 stream 14"), SizeIs(1));
  const Event& copy = r.events(2, "device 0 stream 14")[0];
  EXPECT_EQ(copy.kind, JobKind::kCopy);
  EXPECT_EQ(name(copy), "copy host to device");
  EXPECT_EQ(r.timeline.argumentsOf(copy)[0].integer, 4096);

  EXPECT_EQ(r.timeline.ranks.at(2).device, "process 70");
  EXPECT_EQ(r.timeline.ranks.at(3).device, "process 80");
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("no times that can be used"),
                                         HasSubstr("NVTX mark"), HasSubstr("NVTX range has no end"),
                                         HasSubstr("the trace has no launches"),
                                         HasSubstr("left out: CUPTI_ACTIVITY_KIND_RUNTIME")));
}

TEST_F(SqliteTest, KindsOfTheUserApplyToNsysExports) {
  const KindsFile kinds = KindsFile::parse(
      R"j({"kinds":{"step (?P<step>[0-9]+)":"backward","gemm.*":"recompute"}})j", "k.json");
  const Result r = readSqlite(made(std::string(kNsysTables) + kNsysRows), {.kinds = &kinds});
  EXPECT_EQ(r.events(0, "nvtx main (thread 71)")[0].kind, JobKind::kBackward);
  EXPECT_EQ(r.events(0, "nvtx main (thread 71)")[0].step, 1);
  EXPECT_EQ(r.events(0, "device 0 stream 7")[0].kind, JobKind::kRecompute);
}

TEST_F(SqliteTest, NsysExportsWithoutTextIdsOrStartTimeAreRead) {
  const Result r = readSqlite(
      made("CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT);"
           "INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, 'a', 0)"));
  ASSERT_THAT(r.events(0, "nvtx thread 0"), SizeIs(1));
  EXPECT_EQ(r.events(0, "nvtx thread 0")[0].begin, 5);
}

TEST_F(SqliteTest, WriteAheadDatabasesAreRead) {
  const Result r = readSqlite(made(
      "PRAGMA journal_mode = WAL; CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, "
      "text TEXT, globalTid INT); INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, 'a', 0)"));
  EXPECT_EQ(r.outcome.events, 1);
}

TEST_F(SqliteTest, ATemporaryFolderThatIsNotThereIsReplaced) {
  ::setenv("TMPDIR", path("not there").c_str(), 1);
  OutputFile out("/dev/null");
  EXPECT_EQ(writeSqlite(test::oneFOneB(1, 1, 1), out).jobs, 4);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace pipetrace
