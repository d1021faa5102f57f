#include "parser/chrome_event_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "parser/chrome_color.h"
#include "parser/chrome_format.h"
#include "parser/json_string.h"
#include "trace/decimal_time.h"
#include "trace/display_name.h"

namespace pipetrace {
namespace {

namespace cf = chrome_format;

template <typename Number>
void appendNumber(std::string& out, Number value) {
  std::array<char, 32> text{};
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

/// The shortest text that reads back to the same double, and reads back as a double.
void appendReal(std::string& out, double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

/// `"key":` with what separates it from the field before.
void appendKey(std::string& out, bool& first, std::string_view key) {
  if (!first) out += ',';
  first = false;
  out += '"';
  out += key;
  out += "\":";
}

/// Keys that mean a field of the event, or that an escaped key could be mistaken for.
bool isReserved(std::string_view key) {
  constexpr std::array kWords = {cf::kJob,  cf::kStep,   cf::kMicroBatch, cf::kStage, cf::kChunk,
                                 cf::kPart, cf::kNumber, cf::kPeer,       cf::kClass, cf::kOwnName};
  return std::find(kWords.begin(), kWords.end(), key) != kWords.end() ||
         key.starts_with(cf::kEscapedKey) || key.starts_with(cf::kEscapedReal);
}

class ArgumentWriter {
 public:
  ArgumentWriter(std::string& out, const Timeline& timeline) : out_(out), timeline_(timeline) {}

  void given(std::string_view key, std::int64_t value) {
    if (value == kNotGiven) return;
    appendKey(out_, first_, key);
    appendNumber(out_, value);
  }

  void text(std::string_view key, std::string_view value) {
    appendKey(out_, first_, key);
    appendJsonString(out_, value);
  }

  void all(std::span<const Argument> list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string_view key = timeline_.strings[list[i].key];
      bool plain = !isReserved(key);
      for (std::size_t j = 0; j < i && plain; ++j) plain = list[j].key != list[i].key;
      one(list[i], key, plain ? std::string_view{} : cf::kEscapedKey, i);
    }
  }

 private:
  void one(const Argument& argument, std::string_view key, std::string_view escape,
           std::size_t position) {
    const bool isReal = argument.type == ArgumentType::kReal;
    const bool finite = !isReal || std::isfinite(argument.real);
    if (!finite) escape = cf::kEscapedReal;
    if (!first_) out_ += ',';
    first_ = false;
    if (escape.empty()) {
      appendJsonString(out_, key);
    } else {
      appendJsonString(out_,
                       std::string(escape) + std::to_string(position) + "." + std::string(key));
    }
    out_ += ':';
    if (!finite) {
      out_ += std::isnan(argument.real) ? "\"nan\"" : argument.real > 0 ? "\"inf\"" : "\"-inf\"";
    } else if (isReal) {
      appendReal(out_, argument.real);
    } else if (argument.type == ArgumentType::kInteger) {
      appendNumber(out_, argument.integer);
    } else {
      appendJsonString(out_, timeline_.strings[argument.text]);
    }
  }

  std::string& out_;
  const Timeline& timeline_;
  bool first_ = true;
};

/// Whether the name that the event has of its own is the one that it would get without.
bool looksMadeUp(const Timeline& timeline, const Event& event) {
  if (event.name == 0) return false;
  Event nameless = event;
  nameless.name = 0;
  return displayName(timeline, nameless) == timeline.strings[event.name];
}

void appendArguments(std::string& out, const Timeline& timeline, const Event& event) {
  ArgumentWriter arguments(out, timeline);
  arguments.given(cf::kJob, event.job);
  arguments.given(cf::kStep, event.step);
  arguments.given(cf::kMicroBatch, event.microBatch);
  arguments.given(cf::kStage, event.stage);
  arguments.given(cf::kChunk, event.chunk);
  arguments.given(cf::kPart, event.part);
  arguments.given(cf::kNumber, event.number);
  arguments.given(cf::kPeer, event.peer);
  if (event.bubbleClass != BubbleClass::kNone) {
    arguments.text(cf::kClass, bubbleClassName(event.bubbleClass));
  }
  if (looksMadeUp(timeline, event)) arguments.given(cf::kOwnName, 1);
  arguments.all(timeline.argumentsOf(event));
}

void appendIds(std::string& out, std::int64_t pid, std::int64_t tid) {
  out += ",\"pid\":";
  appendNumber(out, pid);
  if (tid < 0) return;
  out += ",\"tid\":";
  appendNumber(out, tid);
}

}  // namespace

void appendChromeEvent(std::string& out, const Timeline& timeline, const Event& event,
                       const ChromeRow& row, Nanoseconds origin) {
  out += R"({"ph":"X","name":)";
  appendJsonString(out, displayName(timeline, event));
  out += R"(,"cat":")";
  out += logName(event.kind);
  out += '"';
  appendIds(out, row.pid, row.tid);
  out += ",\"ts\":";
  appendMicroseconds(out, event.begin - origin);
  out += ",\"dur\":";
  appendMicroseconds(out, event.duration());
  if (const std::string_view color = chromeColor(event); !color.empty()) {
    out += R"(,"cname":")";
    out += color;
    out += '"';
  }
  out += ",\"args\":{";
  appendArguments(out, timeline, event);
  out += "}}";
}

void appendChromeArrow(std::string& out, std::uint64_t id, const Event& from,
                       const ChromeRow& fromRow, const Event& to, const ChromeRow& toRow,
                       Nanoseconds origin) {
  // A nanosecond before the end, so that a job which begins at that instant is not meant; and
  // before the arrow's own end, since equal times could be taken in either order.
  const Nanoseconds leave = std::max(from.begin, std::min(from.end - 1, to.begin - 1));
  const auto append = [&](std::string_view phase, const ChromeRow& row, Nanoseconds time) {
    out += "{\"ph\":";
    out += phase;
    out += ",\"id\":";
    appendNumber(out, id);
    out += R"(,"name":"micro-batch","cat":"micro-batch")";
    appendIds(out, row.pid, row.tid);
    out += ",\"ts\":";
    appendMicroseconds(out, time - origin);
    out += '}';
  };
  append("\"s\"", fromRow, leave);
  out += ",\n";
  append(R"("f","bp":"e")", toRow, to.begin);
}

void appendChromeSample(std::string& out, const CounterSeries& series, const CounterSample& sample,
                        Nanoseconds origin) {
  out += R"({"ph":"C","name":)";
  appendJsonString(out, series.name);
  appendIds(out, ChromeLanes::pidOf(series.rank), -1);
  out += ",\"ts\":";
  appendMicroseconds(out, sample.time - origin);
  out += R"(,"args":{"value":)";
  appendReal(out, sample.value);
  out += "}}";
}

void appendChromeName(std::string& out, std::string_view what, std::int64_t pid, std::int64_t tid,
                      std::string_view arguments) {
  out += R"({"ph":"M","name":")";
  out += what;
  out += '"';
  appendIds(out, pid, tid);
  out += ",\"args\":{";
  out += arguments;
  out += "}}";
}

}  // namespace pipetrace
