#include <gmock/gmock.h>

#include <sstream>

#include "parser/chrome/write/growing_json.h"
#include "parser/chrome/write/writer.h"
#include "parser/perfetto/writer.h"
#include "parser/sqlite/writer.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "trace/log/rank_info_fields.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

using Place = RankFieldPlace;

/// Gives each field a value of its own.
class Numbering {
 public:
  void set(bool& field) { field = true; }
  void set(std::string& field) { field = "text " + std::to_string(++last_); }
  void set(std::optional<double>& field) { field = ++last_ + 0.5; }
  void set(std::vector<ClockReading>& field) {
    for (int i = 0; i < 2; ++i, last_ += 3) field.push_back({last_ + 1, last_ + 2, last_ + 3});
  }
  void set(std::vector<Nanoseconds>& field) {
    for (int i = 0; i < 2; ++i) field.push_back(++last_);
  }
  void set(std::vector<CommunicationGroup>&) {}  // no file keeps them
  template <typename Number>
  void set(std::optional<Number>& field) {
    field = ++last_;
  }
  template <typename Number>
  void set(Number& field) {
    field = ++last_;
  }

 private:
  int last_ = 0;
};

RankInfo everyFieldSet() {
  RankInfo info;
  Numbering numbering;
  visitRankFields([&](auto, auto member) { numbering.set(info.*member); });
  return info;
}

std::string textOf(const std::vector<ClockReading>& readings) {
  std::ostringstream out;
  for (const ClockReading& r : readings) out << r.when << " " << r.offset << " " << r.bound << ";";
  return out.str();
}
template <typename Value>
std::string textOf(const Value& value) {
  return testing::PrintToString(value);
}

class RankInfoFormatsTest : public test::FolderTest {
 protected:
  RankInfoFormatsTest() {
    timeline_.ranks[info_.rank] = info_;
    Event& event = timeline_.track(info_.rank, kComputeLane).events.emplace_back();
    event.kind = JobKind::kForward;
    event.begin = 1000;
    event.end = 2000;
  }

  /// Reads a file back and compares each field that such files keep.
  void expectEachFieldIn(std::string_view name, bool isLog = false) {
    Diagnostics diagnostics;
    const Timeline read = test::loadTimeline({path(name)}, {}, diagnostics);
    ASSERT_TRUE(read.ranks.contains(info_.rank)) << name;
    const RankInfo& found = read.ranks.at(info_.rank);
    visitRankFields([&]<typename Field>(Field, auto member) {
      if (Field::kPlace == Place::kFound || (isLog && Field::kPlace == Place::kProfile)) return;
      EXPECT_EQ(textOf(found.*member), textOf(info_.*member)) << name << ": " << Field::kKey;
    });
  }

  template <typename Write>
  void expectEachFieldInProfile(std::string_view name, const Write& write) {
    OutputFile out(path(name));
    write(out);
    out.commit();
    expectEachFieldIn(name);
  }

  const RankInfo info_ = everyFieldSet();
  Timeline timeline_;
};

TEST_F(RankInfoFormatsTest, AJobLogKeepsEachFieldThatLogsHave) {
  writeJobLogs(timeline_, folder_);
  expectEachFieldIn("workerlog." + std::to_string(info_.rank), true);
}

TEST_F(RankInfoFormatsTest, ChromeJsonKeepsEachField) {
  expectEachFieldInProfile("p.json", [&](OutputFile& out) { writeChromeJson(timeline_, {}, out); });
}

TEST_F(RankInfoFormatsTest, AProfileThatGrowsKeepsEachField) {
  GrowingChromeJson out(path("growing.json"));
  out.add(timeline_, false);
  out.close();
  expectEachFieldIn("growing.json");
}

TEST_F(RankInfoFormatsTest, PerfettoProtobufKeepsEachField) {
  expectEachFieldInProfile("p.pftrace",
                           [&](OutputFile& out) { writePerfetto(timeline_, {}, out); });
}

TEST_F(RankInfoFormatsTest, SqliteKeepsEachField) {
  expectEachFieldInProfile("p.sqlite", [&](OutputFile& out) { writeSqlite(timeline_, out); });
}

TEST_F(RankInfoFormatsTest, AProfileLeavesOutCountsOfErrorsThatAreZero) {
  for (auto& [rank, info] : timeline_.ranks) info = {};
  OutputFile out(path("p.json"));
  writeChromeJson(timeline_, {}, out);
  out.commit();
  EXPECT_THAT(contents("p.json"),
              testing::HasSubstr(R"("end":{"seen":false,"written":0,"dropped":0,"errors":0,)"
                                 R"("late_starts":0,"own_cost_ns":0}})"));
}

}  // namespace
}  // namespace pipetrace
