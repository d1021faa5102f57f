#include "parser/chrome/arrow_ends.h"

#include <gmock/gmock.h>

#include "parser/chrome/reader.h"
#include "parser/testing/reading.h"

namespace pipetrace {
namespace {

/// Expected numbers are those in the table `flow` of Perfetto's trace processor v52.
class ChromeArrowsTest : public testing::Test {
 protected:
  static std::int64_t arrowsIn(const std::string& events) {
    const std::string json = "{\"traceEvents\": [" + events.substr(0, events.rfind(',')) + "]}";
    const auto reading = test::readWith<ChromeJsonReader>("trace.json", json, {});
    return reading.outcome.arrows.value_or(-1);
  }

  static std::string event(const char* phase, int thread, int time, const std::string& more) {
    return std::string("{\"ph\": \"") + phase + R"(", "name": "a", "cat": "c", "pid": 1, "tid": )" +
           std::to_string(thread) + ", \"ts\": " + std::to_string(time) + more + "},\n";
  }
  static std::string span(int thread, int begin, int length, const std::string& more = "") {
    return event("X", thread, begin, ", \"dur\": " + std::to_string(length) + more);
  }
  static std::string end(const char* phase, int thread, int time, const std::string& id = "1") {
    const bool binds = phase[0] == 'f' && phase[1] == '\0';
    return event(binds ? "f" : std::string(1, phase[0]).c_str(), thread, time,
                 ", \"id\": " + id + (binds ? R"(, "bp": "e")" : ""));
  }
  /// An end that waits for the next span.
  static std::string endAtNext(int thread, int time) { return end("f ", thread, time); }
  static std::string chained(const char* ways) {
    std::string text = ", \"bind_id\": 7";
    if (std::string(ways).find("in") != std::string::npos) text += ", \"flow_in\": true";
    if (std::string(ways).find("out") != std::string::npos) text += ", \"flow_out\": true";
    return text;
  }

  const std::string two_ = span(2, 0, 10) + span(3, 20, 10);
};

TEST_F(ChromeArrowsTest, EveryEndOfAnArrowThatHasBegunCounts) {
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5) + end("f", 3, 25)), 1);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5) + end("f", 3, 25) + end("f", 3, 26)), 2);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5) + end("s", 2, 6) + end("f", 3, 25)), 1);
  EXPECT_EQ(arrowsIn(two_ + span(2, 40, 10) + end("s", 2, 5) + end("t", 3, 25) + end("f", 2, 45)),
            2);
  EXPECT_EQ(arrowsIn(two_ + end("f", 3, 25)), 0);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5)), 0);
}

TEST_F(ChromeArrowsTest, AnArrowIsKnownByItsCategoryNameAndId) {
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5, "1, \"cat\": \"d\"") + end("f", 3, 25)), 0);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5, "1, \"name\": \"d\"") + end("f", 3, 25)), 0);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5, "16") + end("f", 3, 25, "\"10\"") +
                     end("f", 3, 26, "\"0x10\"") + end("f", 3, 27, "\"no\"")),
            2);
}

TEST_F(ChromeArrowsTest, AnEndNeedsASpanThatIsOpenOrWasTheLastOne) {
  EXPECT_EQ(arrowsIn(span(2, 10, 10) + span(3, 20, 10) + end("s", 2, 5) + end("f", 3, 25)), 0);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 15) + end("f", 3, 25)), 1);
  EXPECT_EQ(arrowsIn(span(3, 20, 10) + event("i", 2, 1, "") + end("s", 2, 5) + end("f", 3, 25)), 1);
  EXPECT_EQ(arrowsIn(span(3, 20, 10) + event("B", 2, 0, "") + event("E", 2, 10, "") +
                     end("s", 2, 12) + end("f", 3, 25)),
            0);
}

TEST_F(ChromeArrowsTest, AnEndWithoutBindingPointWaitsForTheNextSpan) {
  const std::string spans = span(2, 0, 10) + span(3, 30, 10);
  EXPECT_EQ(arrowsIn(spans + end("s", 2, 5) + endAtNext(3, 25)), 1);
  EXPECT_EQ(arrowsIn(two_ + end("s", 2, 5) + endAtNext(3, 25)), 0);
  EXPECT_EQ(arrowsIn(spans + endAtNext(3, 25)), 1);  // from nowhere
  EXPECT_EQ(arrowsIn(spans + endAtNext(3, 25) + end("t", 3, 35)), 2);
  // A span that crosses another one does not count.
  const std::string crossing = span(2, 0, 10) + end("s", 2, 1) + endAtNext(2, 3) + span(2, 5, 10);
  EXPECT_EQ(arrowsIn(crossing), 0);
  EXPECT_EQ(arrowsIn(crossing + span(2, 20, 1)), 1);
}

TEST_F(ChromeArrowsTest, SpansWithABindIdAreAChain) {
  EXPECT_EQ(arrowsIn(span(2, 0, 10, chained("out")) + span(3, 20, 10, chained("in out")) +
                     span(2, 40, 10, chained("in"))),
            2);
  EXPECT_EQ(arrowsIn(span(2, 0, 10, chained("out")) + span(3, 20, 10, chained(""))), 0);
  EXPECT_EQ(arrowsIn(span(2, 40, 10, chained("out")) + span(3, 20, 10, chained("in"))), 0);
}

TEST_F(ChromeArrowsTest, AtEqualTimesSpansComeFirstAndEdgesKeepTheirOrder) {
  EXPECT_EQ(arrowsIn(end("f", 3, 20) + two_ + end("s", 2, 5)), 1);
  const auto edges = [](const std::string& atTwenty) {
    return event("B", 2, 0, "") + end("s", 2, 0) + atTwenty + event("E", 3, 30, "") +
           event("E", 2, 40, "");
  };
  EXPECT_EQ(arrowsIn(edges(end("f", 3, 20) + event("B", 3, 20, ""))), 0);
  EXPECT_EQ(arrowsIn(edges(event("B", 3, 20, "") + end("f", 3, 20))), 1);
  EXPECT_EQ(arrowsIn(span(9, 0, 1) + edges(end("f", 3, 20) + event("B", 3, 20, ""))), 0);
  const std::string closed = event("B", 2, 0, "") + end("s", 2, 10) + event("E", 2, 10, "");
  EXPECT_EQ(arrowsIn(closed + event("B", 3, 20, "") + end("f", 3, 25) + event("E", 3, 30, "")), 1);
  EXPECT_EQ(arrowsIn(span(9, 0, 1) + closed + span(3, 20, 10) + end("f", 3, 25)), 0);
}

TEST_F(ChromeArrowsTest, TimesAsFarApartAsPossibleDoNoHarm) {
  const std::string far = R"({"ph": "E", "name": "a", "pid": 1, "tid": 2, "ts": 9000000000000000})";
  EXPECT_EQ(arrowsIn(R"({"ph": "B", "name": "a", "pid": 1, "tid": 2, "ts": -9000000000000000},)" +
                     end("s", 2, 5) + end("f", 2, 7) + far + "," + span(3, 0, 1)),
            1);
}

}  // namespace
}  // namespace pipetrace
