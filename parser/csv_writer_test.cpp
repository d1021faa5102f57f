#include "parser/csv_writer.h"

#include <gmock/gmock.h>

#include "parser/testing/files.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

class CsvWriterTest : public test::FolderTest {
 protected:
  std::string text(const Timeline& timeline) {
    OutputFile out(path("p.csv"));
    summary_ = writeCsv(timeline, out, isSafe_);
    out.commit();
    return contents("p.csv");
  }

  ProfileSummary summary_;
  bool isSafe_ = false;
};

constexpr const char* kHeader =
    "rank,lane,kind,name,begin_ns,end_ns,duration_ns,step,micro_batch,stage,chunk,part,number,job,"
    "peer,class,arguments,phase\n";

TEST_F(CsvWriterTest, EventsAreLinesWithWholeNanoseconds) {
  Timeline t;
  Event e;
  e.kind = JobKind::kForward;
  e.begin = 1697793307213760986;
  e.end = 1697793307254006104;
  e.job = 41;
  e.step = 7;
  e.microBatch = 2;
  e.stage = 0;
  e.chunk = 0;
  e.number = 3;
  e.phase = Phase::kEvaluate;
  const Argument action = Argument::ofText(t.strings.intern("action"), t.strings.intern("0F2"));
  t.setArguments(e, {&action, 1});
  t.track(3, kComputeLane).events.push_back(e);
  Event bubble;
  bubble.kind = JobKind::kBubble;
  bubble.bubbleClass = BubbleClass::kDrain;
  bubble.begin = 5;
  bubble.end = 5;
  t.track(3, kBubbleLane).events.push_back(bubble);
  EXPECT_EQ(text(t), std::string(kHeader) +
                         "3,compute,forward,forward 2,1697793307213760986,1697793307254006104,"
                         "40245118,7,2,0,0,,3,41,,,\"{\"\"action\"\":\"\"0F2\"\"}\",evaluate\n"
                         "3,bubbles,bubble,bubble drain,5,5,0,,,,,,,,,drain,,\n");
  EXPECT_EQ(summary_.jobs, 1);
  EXPECT_EQ(summary_.bubbles, 1);
}

TEST_F(CsvWriterTest, NamesWithCommasQuotesAndLineEndsAreQuoted) {
  Timeline t;
  Event e;
  e.name = t.strings.intern("a,\"b\"\nc");
  t.track(0, "x,y").events.push_back(e);
  EXPECT_EQ(text(t),
            std::string(kHeader) + "0,\"x,y\",other,\"a,\"\"b\"\"\nc\",0,0,0,,,,,,,,,,,\n");
}

TEST_F(CsvWriterTest, NamesHaveNoControlCharacters) {
  Timeline t;
  Event e;
  e.name = t.strings.intern(std::string_view("a\x1b[2J\0b", 7));
  t.track(0, "x\x07").events.push_back(e);
  EXPECT_EQ(text(t), std::string(kHeader) + "0,x?,other,a?[2J?b,0,0,0,,,,,,,,,,,\n");
}

TEST_F(CsvWriterTest, NamesThatAreFormulasAreTextIfAskedFor) {
  Timeline t;
  const std::vector<std::string> formulas = {"=1+2", "+3", "-4", "@SUM(A1)", "\t=5", " =6", "＝7"};
  for (const std::string& name : formulas) {
    Event e;
    e.name = t.strings.intern(name);
    t.track(0, "=lane").events.push_back(e);
  }
  t.tracks[0].events.emplace_back().name = t.strings.intern("x;=8");
  EXPECT_THAT(text(t), testing::HasSubstr("\n0,=lane,other,=1+2,"));
  isSafe_ = true;
  const std::string safe = text(t);
  for (const std::string& name : formulas) {
    EXPECT_THAT(safe, testing::HasSubstr("\n0,\"'=lane\",other,\"'" + name + "\","));
  }
  EXPECT_THAT(safe, testing::HasSubstr(",\"x;=8\","));
}

TEST_F(CsvWriterTest, EveryEventHasALineWithAllFields) {
  const Timeline t = test::oneFOneB(3, 4, 2);
  const std::string csv = text(t);
  std::size_t lines = 0;
  std::size_t fields = 1;
  bool quoted = false;
  for (const char c : csv) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) ++fields;
    if (c != '\n' || quoted) continue;
    ++lines;
    EXPECT_EQ(fields, 18U);
    fields = 1;
  }
  EXPECT_EQ(lines, t.eventCount() + 1);
  EXPECT_EQ(static_cast<std::size_t>(summary_.jobs + summary_.transfers + summary_.others),
            t.eventCount());
}

}  // namespace
}  // namespace pipetrace
