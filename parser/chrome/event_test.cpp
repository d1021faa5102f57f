#include "parser/chrome/event.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

ChromeEvent parsed(std::string_view json) {
  ChromeEvent event;
  EXPECT_TRUE(parseChromeEvent(json, event)) << json;
  return event;
}

TEST(ChromeEventTest, FieldsAreTakenInAnyOrder) {
  const ChromeEvent e = parsed(
      R"({"tid":7,"args":{"i":1,"r":0.5,"t":"x"},"name":"n","dur":2,"ts":1.001,"ph":"X","cat":"c","pid":3,"id":"0x1"})");
  EXPECT_EQ(e.phase, "X");
  EXPECT_EQ(e.name, "n");
  EXPECT_EQ(e.category, "c");
  EXPECT_EQ(e.pid, (ChromeId{false, 3, ""}));
  EXPECT_EQ(e.tid, (ChromeId{false, 7, ""}));
  EXPECT_EQ(e.ts, 1001);
  EXPECT_EQ(e.dur, 2000);
  ASSERT_EQ(e.arguments.size(), 3U);
  EXPECT_EQ(e.find("i")->integer, 1);
  EXPECT_EQ(e.find("r")->real, 0.5);
  EXPECT_EQ(e.find("t")->text, "x");
  EXPECT_EQ(e.find("none"), nullptr);
}

TEST(ChromeEventTest, TimesAreReadAsDigitsAndNotAsDoubles) {
  // As a double this would be 1697793307213760.987 or so.
  EXPECT_EQ(parsed(R"({"ts":1697793307213760.986})").ts, 1697793307213760986);
  EXPECT_EQ(parsed(R"({"ts":"12.5"})").ts, 12'500);
}

TEST(ChromeEventTest, BadTimesAreMarked) {
  for (const char* json : {R"({"ts":1e300})", R"({"ts":"noon"})", R"({"ts":1,"dur":1e99})",
                           R"({"ts":18446744073709551615})"}) {
    EXPECT_TRUE(parsed(json).badTime) << json;
  }
}

TEST(ChromeEventTest, ArgumentsThatAreNestedBecomeTheirJson) {
  const ChromeEvent e = parsed(
      R"({"args":{"dims":[[1,2],[]],"o":{"a":"q\"","b":[true,null,0.5,{"c":-1}]},"after":3},"x":{"args":{"no":1}}})");
  EXPECT_EQ(e.find("dims")->text, "[[1,2],[]]");
  EXPECT_EQ(e.find("o")->text, R"({"a":"q\"","b":[true,null,0.5,{"c":-1}]})");
  EXPECT_EQ(e.find("after")->integer, 3);
  EXPECT_EQ(e.arguments.size(), 3U);
}

TEST(ChromeEventTest, IdsMayBeTexts) {
  const ChromeEvent e = parsed(R"({"pid":"Spans","tid":"main"})");
  EXPECT_EQ(e.pid, (ChromeId{true, 0, "Spans"}));
  EXPECT_EQ(e.tid, (ChromeId{true, 0, "main"}));
}

TEST(ChromeEventTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(parsed("{\"name\":\"a\xff\"}").name, "a\ufffd");
}

TEST(ChromeEventTest, OldContentsAreDropped) {
  ChromeEvent event = parsed(R"({"name":"a","ts":1,"args":{"x":1}})");
  ASSERT_TRUE(parseChromeEvent("{}", event));
  EXPECT_EQ(event.name, "");
  EXPECT_FALSE(event.ts);
  EXPECT_TRUE(event.arguments.empty());
}

TEST(ChromeEventTest, JsonThatIsNoObjectIsRefused) {
  ChromeEvent event;
  for (const char* json : {"", "1", "[]", "{", "{\"a\":}", "{\"a\":1,}", "null", "\"x\""}) {
    EXPECT_FALSE(parseChromeEvent(json, event)) << json;
  }
}

}  // namespace
}  // namespace pipetrace
