#include "trace/append.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::ElementsAre;

/// A timeline with one event on the compute lane of `rank`. The event has this name, and one
/// argument with this key and this text.
Timeline oneEvent(int rank, const std::string& name, const std::string& key,
                  const std::string& value) {
  Timeline t;
  Event event;
  const StringId valueId = t.strings.intern(value);
  event.name = t.strings.intern(name);
  const Argument argument = Argument::ofText(t.strings.intern(key), valueId);
  t.setArguments(event, {&argument, 1});
  t.track(rank, kComputeLane).events.push_back(event);
  return t;
}

/// The text "<rank>: name key=value, name …" for each track.
std::vector<std::string> textsOf(const Timeline& t) {
  std::vector<std::string> texts;
  for (const Track& track : t.tracks) {
    std::string text = std::to_string(track.rank) + ":";
    for (const Event& event : track.events) {
      text += " " + std::string(t.strings[event.name]);
      for (const Argument& argument : t.argumentsOf(event)) {
        text += " " + std::string(t.strings[argument.key]) + "=" +
                (argument.type == ArgumentType::kText ? std::string(t.strings[argument.text])
                                                      : std::to_string(argument.integer));
      }
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(AppendTest, EventsOfEachPartKeepTheirNamesAndArguments) {
  Timeline all;
  append(oneEvent(0, "eval", "loss", "low"), all);
  append(oneEvent(1, "save", "path", "eval"), all);
  append(oneEvent(0, "save", "loss", "high"), all);
  EXPECT_THAT(textsOf(all), ElementsAre("0: eval loss=low save loss=high", "1: save path=eval"));
  EXPECT_EQ(all.strings.size(), 7U);  // each string once, and the empty one
  EXPECT_EQ(all.ranks.size(), 2U);
}

TEST(AppendTest, ANumberInAnArgumentIsNotTakenForAString) {
  Timeline all;
  append(oneEvent(0, "eval", "loss", "low"), all);
  Timeline part;
  Event event;
  event.name = part.strings.intern("save");
  const Argument bytes = Argument::ofInteger(part.strings.intern("bytes"), 1);
  part.setArguments(event, {&bytes, 1});
  part.track(1, kComputeLane).events.push_back(event);
  append(std::move(part), all);
  EXPECT_EQ(textsOf(all).back(), "1: save bytes=1");
}

TEST(AppendTest, APartWithTheSameStringsAndNoArgumentsStaysUnchanged) {
  Timeline all = oneEvent(0, "eval", "loss", "low");
  Timeline part = oneEvent(1, "eval", "loss", "low");
  part.arguments.clear();
  part.tracks[0].events[0].argumentCount = 0;
  append(std::move(part), all);
  EXPECT_THAT(textsOf(all), ElementsAre("0: eval loss=low", "1: eval"));
}

TEST(AppendTest, TheRankInfoOfTheFirstPartIsKept) {
  Timeline all = oneEvent(0, "eval", "loss", "low");
  all.ranks[0].host = "first";
  Timeline part = oneEvent(1, "eval", "loss", "low");
  part.ranks[0].host = "second";
  part.ranks[1].host = "other";
  append(std::move(part), all);
  EXPECT_EQ(all.ranks[0].host, "first");
  EXPECT_EQ(all.ranks[1].host, "other");
}

TEST(AppendTest, CountersComeAfterThoseThatAreThere) {
  Timeline all;
  all.counters.push_back({0, "memory", "bytes", {{10, 1}}});
  Timeline part;
  part.counters.push_back({0, "loss", "", {{20, 2}}});
  append(std::move(part), all);
  ASSERT_EQ(all.counters.size(), 2U);
  EXPECT_EQ(all.counters[1].name, "loss");
  EXPECT_EQ(all.counters[1].samples[0].time, 20);
}

TEST(AppendTest, AnEventWithoutArgumentsIsNotShifted) {
  Event without;
  Event with;
  with.firstArgument = 2;
  with.argumentCount = 1;
  std::vector<Event> events{without, with};
  EventRemap{40}(events);
  EXPECT_EQ(events[0].firstArgument, 0U);
  EXPECT_EQ(events[1].firstArgument, 42U);
}

TEST(AppendTest, NoEventHasMoreThan65535Arguments) {
  std::vector<Argument> all(3);
  Event event;
  setArguments(event, std::vector<Argument>(65'536, Argument::ofInteger(0, 7)), all);
  EXPECT_EQ(event.firstArgument, 3U);
  EXPECT_EQ(event.argumentCount, 65'535);
  EXPECT_EQ(all.size(), 65'538U);
}

TEST(AppendTest, AnEmptyListTakesThePartWithoutACopy) {
  std::vector<Event> part(3);
  const Event* const where = part.data();
  std::vector<Event> all;
  append(std::move(part), all);
  EXPECT_EQ(all.data(), where);
  append(std::vector<Event>(2), all);
  EXPECT_EQ(all.size(), 5U);
}

}  // namespace
}  // namespace pipetrace
