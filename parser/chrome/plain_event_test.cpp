#include "parser/chrome/event.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "parser/chrome/reader.h"
#include "parser/testing/files.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

std::string describe(const ChromeId& id) {
  return id.isText ? "'" + id.text + "'" : std::to_string(id.number);
}

/// All fields of an event, one per line.
std::string describe(const ChromeEvent& event) {
  std::string text = std::string(event.phase) + "\n" + std::string(event.name) + "\n" +
                     std::string(event.category) + "\n" + describe(event.pid) + " " +
                     describe(event.tid) + "\n";
  text += event.ts ? std::to_string(*event.ts) : "none";
  text += event.dur ? " " + std::to_string(*event.dur) : " none";
  text += event.badTime ? " bad\n" : "\n";
  const auto add = [&](const auto& id) { text += id ? std::to_string(*id) + " " : "none "; };
  add(event.arrow.id);
  add(event.arrow.bindId);
  for (const bool is : {event.arrow.flowIn, event.arrow.flowOut, event.arrow.bindsEnclosing,
                        event.arrow.isOfThread}) {
    text += is ? "1" : "0";
  }
  text += "\n";
  for (const ChromeArgument& argument : event.arguments) {
    text += std::string(argument.key) + " = ";
    switch (argument.type) {
      case ChromeArgument::Type::kInteger: text += std::to_string(argument.integer); break;
      case ChromeArgument::Type::kReal: text += "real " + std::to_string(argument.real); break;
      case ChromeArgument::Type::kText: text += "'" + std::string(argument.text) + "'"; break;
    }
    text += "\n";
  }
  return text;
}

/// True when it was read by hand; the library must then read the same.
bool isPlain(const std::string& json) {
  ChromeEvent byHand;
  const std::size_t length = readPlainChromeEvent(json, byHand);
  if (length == 0) return false;
  ChromeEvent byLibrary;
  EXPECT_TRUE(parseChromeEvent(json.substr(0, length), byLibrary)) << json;
  EXPECT_EQ(describe(byHand), describe(byLibrary)) << json;
  return true;
}

const std::vector<std::string> kPlain = {
    R"({"ph":"X","name":"n","cat":"c","pid":1,"tid":2,"ts":1.5,"dur":0.001})",
    R"({ "ph" : "X" , "ts" : 17 , "args" : { } , "id" : "0x1" })",
    "{\n\t\"ph\": \"X\",\r\n\t\"args\": {\n\t\t\"a\": -3,\n\t\t\"b\": 0.25\n\t}\n}",
    R"({"ts":-12.3456789,"dur":0,"pid":"main","tid":"前向","name":"前向 传播"})",
    R"({"args":{"t":true,"f":false,"n":null,"x":"","big":123456789012345678,"r":-0.0}})",
    R"({"name":"a name that is longer than a register of the machine is wide","args":{"a":1,"a":2}})",
    R"({"ts":9000000000000000.999,"cname":"good","s":null,"ok":true})",
    R"({"name":"first","name":"last","ts":1,"ts":2})",
    R"({"ph":"f","id":18446,"bp":"e","s":"g","ts":1})",
    R"({"ph":"X","bind_id":"0xfF","flow_in":true,"flow_out":false,"id":"x1","ts":1,"dur":2})",
    R"({"ph":"s","id":-4,"bind_id":2.75,"flow_in":1,"flow_out":"true","bp":5,"ts":1})",
    R"({"ph":"s","id":7,"id":"","args":{"id":3,"bp":"e"},"ts":1})",
};

/// Texts that need the library: good events, and some that are no events.
const std::vector<std::string> kNotPlain = {
    R"({"name":"an \"escape\""})",
    R"({"ts":1e3})",
    R"({"ts":"12.5"})",
    R"({"args":{"list":[1,2]}})",
    R"({"args":{"o":{}}})",
    R"({"pid":1.5})",
    R"({"pid":null})",
    R"({"name":7})",
    R"({"ts":9000000000000001})",
    R"({"args":{"x":-0}})",
    R"({"args":[1]})",
    R"({"x":1234567890123456789})",
    "{\"name\":\"\xff\"}",
    "{\"name\":\"tab\t\"}",
    R"({"ts":01})",
    R"({"ts":1.})",
    R"({"ts":.5})",
    R"({"a":1,})",
    R"({"a":1 "b":2})",
    R"({"a":tru})",
    R"({})",
    R"([])",
    R"({"a":1)",
    R"({"a":-})",
    R"({"a")",
    R"({"a":)",
    R"({"ts":12)",
};

TEST(PlainChromeEventTest, PlainEventsAreReadAsTheLibraryReadsThem) {
  for (const std::string& json : kPlain) EXPECT_TRUE(isPlain(json)) << json;
}

TEST(PlainChromeEventTest, EventsThatAreNotPlainAreLeftToTheLibrary) {
  for (const std::string& json : kNotPlain) EXPECT_FALSE(isPlain(json)) << json;
}

TEST(PlainChromeEventTest, AnEventEndsWithItsBracket) {
  ChromeEvent event;
  EXPECT_EQ(readPlainChromeEvent(R"({"ts":1},{"ts":2})", event), 8U);
  EXPECT_EQ(event.ts, 1000);
}

TEST(PlainChromeEventTest, AnEventThatTheTextCutsOffIsNotRead) {
  ChromeEvent event;
  for (const std::string& json : kPlain) {
    for (std::size_t length = 0; length < json.size(); ++length) {
      EXPECT_EQ(readPlainChromeEvent(json.substr(0, length), event), 0U) << json << length;
    }
  }
}

TEST(PlainChromeEventTest, ReadingByHandAndByTheLibraryAgree) {
  std::mt19937 random(11);
  const std::string letters = "{}[]\":,.-+eE019 \n\\tnx\x80\xe5\x89\x8d";
  int plain = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string json = kPlain[random() % kPlain.size()];
    for (unsigned changes = random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % json.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 3) {
        case 0: json[at] = letter; break;
        case 1: json.insert(at, 1, letter); break;
        default: json.erase(at, 1);
      }
    }
    plain += isPlain(json) ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(plain, 20'000);
}

/// The timeline of a trace, and the diagnostics about it.
std::string read(const std::string& json, ChromeReading reading) {
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("trace", json);
  const ReadOutcome outcome = ChromeJsonReader(reading).read(source, {}, timeline, diagnostics);
  timeline.sort();
  std::string text = test::describe(timeline) + std::to_string(outcome.events) + outcome.whyNone;
  for (const Diagnostic& diagnostic : diagnostics.list()) text += "\n" + toText(diagnostic);
  return text;
}

TEST(PlainChromeEventTest, WholeTracesAreReadAlikeBothWays) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string json = i % 2 == 0 ? "[" : "{\"traceEvents\":[\n";
    for (unsigned events = random() % 40; events > 0; --events) {
      const bool isOdd = random() % 4 == 0;
      const auto& list = isOdd ? kNotPlain : kPlain;
      json += list[random() % list.size()];
      json += random() % 3 == 0 ? "\n,\n" : ",\n";
    }
    json += i % 2 == 0 ? "]" : "]}";
    if (random() % 5 == 0) json.resize(random() % json.size());
    ASSERT_EQ(read(json, ChromeReading::kFast), read(json, ChromeReading::kByLibrary)) << json;
  }
}

TEST(PlainChromeEventTest, EventsAcrossWindowsAreReadOnce) {
  std::string json = "[";
  constexpr int kEvents = 40'000;
  for (int i = 0; i < kEvents; ++i) {
    json += R"({"ph":"X","name":"e","pid":1,"tid":1,"ts":)" + std::to_string(i) + R"(,"dur":1},)";
  }
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("trace", json + "]");
  EXPECT_EQ(ChromeJsonReader().read(source, {}, timeline, diagnostics).events, kEvents);
  EXPECT_EQ(timeline.tracks.at(0).events.back().begin, (kEvents - 1) * kNsPerUs);
}

}  // namespace
}  // namespace pipetrace
