#include "parser/chrome/event_fields.h"

#include <limits>
#include <optional>
#include <vector>

#include "parser/profile/common_format.h"
#include "trace/text/fallback_name.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace cf = common_format;

template <typename Number>
bool setField(const ChromeArgument& argument, Number& field) {
  if (argument.type != ChromeArgument::Type::kInteger ||
      argument.integer < std::numeric_limits<Number>::min() ||
      argument.integer > std::numeric_limits<Number>::max()) {
    return false;
  }
  field = static_cast<Number>(argument.integer);
  return true;
}

bool setClass(const ChromeArgument& argument, BubbleClass& field) {
  if (argument.type != ChromeArgument::Type::kText || argument.text.empty()) return false;
  const std::optional<BubbleClass> bubbleClass = bubbleClassFromName(argument.text);
  if (bubbleClass) field = *bubbleClass;
  return bubbleClass.has_value();
}

bool setPhase(const ChromeArgument& argument, Phase& field) {
  if (argument.type != ChromeArgument::Type::kText) return false;
  const std::optional<Phase> phase = phaseFromLogName(argument.text);
  if (phase) field = *phase;
  return phase.has_value();
}

/// Whether the argument is a field of the event; if so, it has been set.
bool takeField(const ChromeArgument& argument, Event& event) {
  const std::string_view key = argument.key;
  if (key == cf::kJob) return setField(argument, event.job);
  if (key == cf::kStep) return setField(argument, event.step);
  if (key == cf::kMicroBatch) return setField(argument, event.microBatch);
  if (key == cf::kStage) return setField(argument, event.stage);
  if (key == cf::kChunk) return setField(argument, event.chunk);
  if (key == cf::kPart) return setField(argument, event.part);
  if (key == cf::kNumber) return setField(argument, event.number);
  if (key == cf::kPeer) return setField(argument, event.peer);
  if (key == cf::kPhase) return setPhase(argument, event.phase);
  if (key == cf::kClass) return setClass(argument, event.bubbleClass);
  return key == cf::kOwnName;
}

/// The key after `prefix` and a position; nothing when the key has another form.
std::optional<std::string_view> escapedKey(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos || !parseNumber<std::uint32_t>(key.substr(0, dot))) {
    return std::nullopt;
  }
  return key.substr(dot + 1);
}

Argument toArgument(const ChromeArgument& source, StringTable& strings) {
  if (const auto key = escapedKey(source.key, cf::kEscapedReal);
      key && source.type == ChromeArgument::Type::kText) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double value = source.text == "inf"    ? kInfinity
                         : source.text == "-inf" ? -kInfinity
                                                 : std::numeric_limits<double>::quiet_NaN();
    return Argument::ofReal(strings.intern(*key), value);
  }
  const StringId key = strings.intern(escapedKey(source.key, cf::kEscapedKey).value_or(source.key));
  switch (source.type) {
    case ChromeArgument::Type::kInteger: return Argument::ofInteger(key, source.integer);
    case ChromeArgument::Type::kReal: return Argument::ofReal(key, source.real);
    case ChromeArgument::Type::kText: break;
  }
  return Argument::ofText(key, strings.intern(source.text));
}

}  // namespace

Event eventFromChrome(const ChromeEvent& source, JobKind kind, Timeline& timeline) {
  Event event;
  event.kind = kind;
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  const std::size_t first = timeline.arguments.size();
  for (const ChromeArgument& argument : source.arguments) {
    if (!takeField(argument, event) && timeline.arguments.size() < first + kMost) {
      timeline.arguments.push_back(toArgument(argument, timeline.strings));
    }
  }
  if (timeline.arguments.size() > first) {
    event.firstArgument = static_cast<std::uint32_t>(first);
    event.argumentCount = static_cast<std::uint16_t>(timeline.arguments.size() - first);
  }
  const bool isOwn = source.find(cf::kOwnName) != nullptr || !isFallbackName(event, source.name);
  if (isOwn) event.name = timeline.strings.intern(source.name);
  return event;
}

}  // namespace pipetrace
