#include "parser/chrome/write/event_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "parser/json/json_string.h"
#include "parser/profile/common_format.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

namespace cf = common_format;

/// Adds the shortest text that reads back to the same double, and as a double.
void addReal(TextBuffer& out, double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  out.add(digits);
  if (digits.find_first_of(".e") == std::string_view::npos) out.add(".0");
}

/// Keys that mean a field of the event, or could be taken for an escaped key.
bool isReserved(std::string_view key) {
  constexpr std::array kWords = {cf::kJob,   cf::kStep,  cf::kMicroBatch, cf::kStage,
                                 cf::kChunk, cf::kPart,  cf::kNumber,     cf::kPeer,
                                 cf::kPhase, cf::kClass, cf::kOwnName};
  return std::find(kWords.begin(), kWords.end(), key) != kWords.end() ||
         key.starts_with(cf::kEscapedKey) || key.starts_with(cf::kEscapedReal);
}

void addComma(TextBuffer& out, bool& first) {
  if (!first) out.add(',');
  first = false;
}

/// Adds `"key":`, after the separator from the field before.
void addKey(TextBuffer& out, bool& first, std::string_view key) {
  addComma(out, first);
  out.addQuoted(key, ":");
}

void addGiven(TextBuffer& out, bool& first, std::string_view key, std::int64_t value) {
  if (value == kNotGiven) return;
  addKey(out, first, key);
  out.addNumber(value);
}

void addIds(TextBuffer& out, std::int64_t pid, std::int64_t tid) {
  out.add(",\"pid\":");
  out.addNumber(pid);
  if (tid < 0) return;
  out.add(",\"tid\":");
  out.addNumber(tid);
}

void addValue(TextBuffer& out, const Argument& argument, const StringTable& strings) {
  switch (argument.type) {
    case ArgumentType::kInteger: out.addNumber(argument.integer); break;
    case ArgumentType::kText: out.addJson(strings[argument.text]); break;
    case ArgumentType::kReal:
      if (std::isfinite(argument.real)) {
        addReal(out, argument.real);
      } else {
        out.addJson(std::isnan(argument.real) ? "nan" : argument.real > 0 ? "inf" : "-inf");
      }
      break;
  }
}

}  // namespace

ChromeEventText::ChromeEventText(const Timeline& timeline, const ViewerRows& rows,
                                 Nanoseconds origin)
    : timeline_(timeline), rows_(rows), origin_(origin), keys_(timeline.strings.size()) {
  for (const ViewerRow& row : rows.all()) {
    TextBuffer ids;
    addIds(ids, row.pid, row.tid);
    idsOfRow_.emplace_back(ids.text());
  }
  for (const Argument& argument : timeline.arguments) {
    Key& key = keys_[argument.key];
    if (!key.json.empty()) continue;
    const std::string_view text = timeline.strings[argument.key];
    key.isReserved = isReserved(text);
    appendJsonString(key.json, text);
    key.json += ':';
  }
}

void ChromeEventText::addEvent(TextBuffer& out, std::size_t track, std::size_t event) const {
  const Event& e = timeline_.tracks[track].events[event];
  const FallbackName madeUp(e);
  const std::string_view name = e.name == 0 ? madeUp.text() : timeline_.strings[e.name];
  out.add(R"({"ph":"X","name":)");
  e.name == 0 ? out.addQuoted(name) : out.addJson(name);
  out.add(",\"cat\":");
  out.addQuoted(logName(e.kind));
  out.add(idsOfRow_[rows_.rowIndex(track, event)]);
  out.add(",\"ts\":");
  out.addMicroseconds(e.begin - origin_);
  out.add(",\"dur\":");
  out.addMicroseconds(e.duration());
  if (const std::string_view color = chromeColor(e); !color.empty()) {
    out.add(",\"cname\":");
    out.addQuoted(color);
  }
  out.add(",\"args\":{");
  addArguments(out, e, e.name != 0 && isFallbackName(e, name));
  out.add("}}");
}

/// `ownName`: the name is the event's own, although it equals the one made of kind and micro-batch.
void ChromeEventText::addArguments(TextBuffer& out, const Event& event, bool ownName) const {
  bool first = true;
  addGiven(out, first, cf::kJob, event.job);
  addGiven(out, first, cf::kStep, event.step);
  addGiven(out, first, cf::kMicroBatch, event.microBatch);
  addGiven(out, first, cf::kStage, event.stage);
  addGiven(out, first, cf::kChunk, event.chunk);
  addGiven(out, first, cf::kPart, event.part);
  addGiven(out, first, cf::kNumber, event.number);
  addGiven(out, first, cf::kPeer, event.peer);
  if (event.phase != Phase::kTraining) {
    addKey(out, first, cf::kPhase);
    out.addQuoted(logName(event.phase));
  }
  if (event.bubbleClass != BubbleClass::kNone) {
    addKey(out, first, cf::kClass);
    out.addQuoted(bubbleClassName(event.bubbleClass));
  }
  if (ownName) addGiven(out, first, cf::kOwnName, 1);
  if (event.argumentCount > 0) addListed(out, event, first);
}

void ChromeEventText::addListed(TextBuffer& out, const Event& event, bool first) const {
  const std::span<const Argument> list = timeline_.argumentsOf(event);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Argument& argument = list[i];
    const Key& key = keys_[argument.key];
    const bool isFinite = argument.type != ArgumentType::kReal || std::isfinite(argument.real);
    const bool isRepeated =
        std::any_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Argument& before) { return before.key == argument.key; });
    addComma(out, first);
    if (isFinite && !isRepeated && !key.isReserved) {
      out.add(key.json);
    } else {
      const std::string_view escape = isFinite ? cf::kEscapedKey : cf::kEscapedReal;
      out.addJson(std::string(escape) + std::to_string(i) + "." +
                  std::string(timeline_.strings[argument.key]));
      out.add(':');
    }
    addValue(out, argument, timeline_.strings);
  }
}

void ChromeEventText::addFlowEnd(TextBuffer& out, std::string_view phase, std::int64_t id,
                                 const ViewerRow& row, Nanoseconds time) const {
  out.add("{\"ph\":");
  out.add(phase);
  out.add(",\"id\":");
  out.addNumber(id);
  out.add(R"(,"name":"micro-batch","cat":"micro-batch")");
  addIds(out, row.pid, row.tid);
  out.add(",\"ts\":");
  out.addMicroseconds(time - origin_);
  out.add('}');
}

void ChromeEventText::addArrow(TextBuffer& out, std::int64_t id, const Slice& from,
                               const Slice& to) const {
  // Both ends are inside their slices, so that no job which ends or begins at that instant is
  // meant. The arrow leaves before it arrives, since viewers may take equal times in either order.
  const Nanoseconds beforeEnd = from.event.end == kNsMin ? kNsMin : from.event.end - 1;
  const Nanoseconds leave = std::min(beforeEnd, to.event.begin);
  addFlowEnd(out, "\"s\"", id, from.row, leave);
  out.add(",\n");
  addFlowEnd(out, R"("f","bp":"e")", id, to.row, to.event.begin + 1);
}

void ChromeEventText::addSample(TextBuffer& out, const CounterSeries& series,
                                const CounterSample& sample) const {
  out.add(R"({"ph":"C","name":)");
  out.addJson(series.name);
  addIds(out, ViewerRows::pidOf(series.rank), -1);
  out.add(",\"ts\":");
  out.addMicroseconds(sample.time - origin_);
  out.add(R"(,"args":{"value":)");
  addReal(out, sample.value);
  out.add("}}");
}

void addChromeName(TextBuffer& out, std::string_view what, std::int64_t pid, std::int64_t tid,
                   std::string_view arguments) {
  out.add(R"({"ph":"M","name":")");
  out.add(what);
  out.add('"');
  addIds(out, pid, tid);
  out.add(",\"args\":{");
  out.add(arguments);
  out.add("}}");
}

std::string chromeField(std::string_view key, std::string_view text) {
  std::string json;
  appendJsonString(json, key);
  json += ':';
  appendJsonString(json, text);
  return json;
}

std::string chromeSortIndex(int index) { return "\"sort_index\":" + std::to_string(index); }

std::string_view chromeColor(const Event& event) {
  return event.kind == JobKind::kBubble ? rowOf(event.bubbleClass).catapult
                                        : rowOf(event.kind).chromeColor;
}

}  // namespace pipetrace
