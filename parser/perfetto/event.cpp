#include "parser/perfetto/event.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "parser/perfetto/format.h"
#include "parser/perfetto/wire.h"
#include "parser/profile/common_format.h"
#include "trace/text/display_name.h"
#include "trace/text/log_numbers.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

namespace cf = common_format;
namespace pf = perfetto_format;

StringId internUtf8(std::string_view text, StringTable& strings) {
  return isUtf8(text) ? strings.intern(text) : strings.intern(toUtf8(text));
}

/// The key after `arg.<position>.`; the whole key when it has another form.
std::string_view unescaped(std::string_view key) {
  if (!key.starts_with(cf::kEscapedKey)) return key;
  const std::string_view rest = key.substr(cf::kEscapedKey.size());
  const std::size_t dot = rest.find('.');
  const bool isEscaped =
      dot != std::string_view::npos && parseNumber<std::uint32_t>(rest.substr(0, dot));
  return isEscaped ? rest.substr(dot + 1) : key;
}

template <typename Number>
bool setField(const Argument& argument, Number& field) {
  if (argument.type != ArgumentType::kInteger ||
      argument.integer < std::numeric_limits<Number>::min() ||
      argument.integer > std::numeric_limits<Number>::max()) {
    return false;
  }
  field = static_cast<Number>(argument.integer);
  return true;
}

bool setClass(const Argument& argument, const StringTable& strings, BubbleClass& field) {
  if (argument.type != ArgumentType::kText || argument.text == 0) return false;
  const std::optional<BubbleClass> bubbleClass = bubbleClassFromName(strings[argument.text]);
  if (bubbleClass) field = *bubbleClass;
  return bubbleClass.has_value();
}

bool setPhase(const Argument& argument, const StringTable& strings, Phase& field) {
  if (argument.type != ArgumentType::kText) return false;
  const std::optional<Phase> phase = phaseFromLogName(strings[argument.text]);
  if (phase) field = *phase;
  return phase.has_value();
}

class EventReader {
 public:
  EventReader(const PerfettoState& state, Timeline& timeline)
      : state_(state), timeline_(timeline) {}

  PerfettoEvent read(std::string_view message) {
    WireFields fields(message);
    for (WireField field; fields.next(field);) addField(field);
    if (!arguments_.empty()) timeline_.setArguments(result_.event, arguments_);
    if (isNamed_ && (ownName_ || !isFallbackName(result_.event, timeline_.strings[name_]))) {
      result_.event.name = name_;
    }
    return result_;
  }

 private:
  void addField(const WireField& field) {
    switch (field.number) {
      case pf::event::kType: result_.type = field.value; break;
      case pf::event::kTrack: result_.track = field.value; break;
      case pf::event::kNameIid: setName(state_.name(field.value)); break;
      case pf::event::kName: {
        const PerfettoState::Text text{intern(field.bytes)};
        setName(&text);
        break;
      }
      case pf::event::kCategoryIid: addCategory(field); break;
      case pf::event::kCategory: setKind(jobKindFromLogName(field.bytes)); break;
      case pf::event::kAnnotation: addArgument(field.bytes); break;
      case pf::event::kCounterValue:
        result_.hasInteger = true;
        result_.integer = field.integer();
        result_.value = static_cast<double>(field.integer());
        break;
      case pf::event::kDoubleCounterValue:
        result_.hasInteger = false;
        result_.value = std::bit_cast<double>(field.value);
        break;
      case pf::event::kExtraCounterValue: result_.hasExtraCounters = true; break;
      case pf::event::kFlow: addFlow(field, result_.flows); break;
      case pf::event::kEndOfFlow: addFlow(field, result_.endedFlows); break;
      case pf::event::kTimeDelta: result_.hasDelta = true; break;
      case pf::event::kTimeAbsolute: result_.absoluteUs = field.value; break;
      default: break;
    }
  }

  /// One id, or several packed into a text.
  static void addFlow(const WireField& field, std::vector<std::uint64_t>& flows) {
    if (!field.isBytes) return flows.push_back(field.value);
    for (std::string_view ids = field.bytes; ids.size() >= sizeof(std::uint64_t);) {
      std::uint64_t id = 0;
      std::memcpy(&id, ids.data(), sizeof id);
      flows.push_back(id);
      ids.remove_prefix(sizeof id);
    }
  }

  StringId intern(std::string_view text) {
    return isUtf8(text) ? timeline_.strings.intern(text) : timeline_.strings.intern(toUtf8(text));
  }

  void setName(const PerfettoState::Text* text) {
    if (text == nullptr) {
      result_.lostName = true;
      return;
    }
    isNamed_ = true;
    name_ = text->id;
  }

  void setKind(JobKind kind) {
    if (result_.event.kind == JobKind::kOther) result_.event.kind = kind;
  }

  /// One number, or several packed into a text.
  void addCategory(const WireField& field) {
    if (!field.isBytes) {
      if (const auto* category = state_.category(field.value)) setKind(category->kind);
      return;
    }
    const char* at = field.bytes.data();
    const char* const end = at + field.bytes.size();
    while (at != end) {
      if (const auto* category = state_.category(protozero::decode_varint(&at, end))) {
        setKind(category->kind);
      }
    }
  }

  void addArgument(std::string_view message) {
    PerfettoState::Key key;
    bool hasKey = false;
    bool hasValue = false;
    Argument argument;
    WireFields fields(message);
    for (WireField field; fields.next(field);) {
      if (field.isVarint(pf::annotation::kNameIid)) {
        if (const auto* known = state_.key(field.value)) {
          key = *known;
          hasKey = true;
        }
      } else if (field.isBytesOf(pf::annotation::kName)) {
        key = PerfettoState::keyOf(field.bytes, timeline_.strings);
        hasKey = true;
      } else {
        hasValue = setValue(field, argument) || hasValue;
      }
    }
    if (!hasKey || !hasValue) {
      ++result_.lostArguments;
    } else if (!takeField(key.field, argument)) {
      argument.key = key.text;
      arguments_.push_back(argument);
    }
  }

  bool setValue(const WireField& field, Argument& argument) {
    if (field.isVarint(pf::annotation::kInteger)) {
      argument = Argument::ofInteger(0, field.integer());
    } else if (field.isVarint(pf::annotation::kUnsigned) ||
               field.isVarint(pf::annotation::kPointer)) {
      argument = field.integer() >= 0 ? Argument::ofInteger(0, field.integer())
                                      : Argument::ofReal(0, static_cast<double>(field.value));
    } else if (field.isFixed64(pf::annotation::kReal)) {
      argument = Argument::ofReal(0, std::bit_cast<double>(field.value));
    } else if (field.isVarint(pf::annotation::kBool)) {
      argument = Argument::ofText(0, intern(field.value != 0 ? "true" : "false"));
    } else if (field.isBytesOf(pf::annotation::kText) || field.isBytesOf(pf::annotation::kJson)) {
      argument = Argument::ofText(0, intern(field.bytes));
    } else if (field.isVarint(pf::annotation::kTextIid)) {
      const auto* text = state_.text(field.value);
      if (text == nullptr) return false;
      argument = Argument::ofText(0, text->id);
    } else {
      return false;
    }
    return true;
  }

  /// Whether the argument is a field of the event; if so, it has been set.
  bool takeField(PerfettoState::Key::Field field, const Argument& argument) {
    using Field = PerfettoState::Key::Field;
    Event& event = result_.event;
    switch (field) {
      case Field::kNone: return false;
      case Field::kJob: return setField(argument, event.job);
      case Field::kStep: return setField(argument, event.step);
      case Field::kMicroBatch: return setField(argument, event.microBatch);
      case Field::kStage: return setField(argument, event.stage);
      case Field::kChunk: return setField(argument, event.chunk);
      case Field::kPart: return setField(argument, event.part);
      case Field::kNumber: return setField(argument, event.number);
      case Field::kPeer: return setField(argument, event.peer);
      case Field::kPhase: return setPhase(argument, timeline_.strings, event.phase);
      case Field::kClass: return setClass(argument, timeline_.strings, event.bubbleClass);
      case Field::kOwnName: ownName_ = true; return true;
    }
    return false;
  }

  const PerfettoState& state_;
  Timeline& timeline_;
  PerfettoEvent result_;
  std::vector<Argument> arguments_;
  bool isNamed_ = false;
  bool ownName_ = false;
  StringId name_ = 0;
};

}  // namespace

PerfettoState::Key PerfettoState::keyOf(std::string_view name, StringTable& strings) {
  using Field = Key::Field;
  constexpr std::array<std::pair<std::string_view, Field>, 11> kFields = {
      {{cf::kJob, Field::kJob},
       {cf::kStep, Field::kStep},
       {cf::kMicroBatch, Field::kMicroBatch},
       {cf::kStage, Field::kStage},
       {cf::kChunk, Field::kChunk},
       {cf::kPart, Field::kPart},
       {cf::kNumber, Field::kNumber},
       {cf::kPeer, Field::kPeer},
       {cf::kPhase, Field::kPhase},
       {cf::kClass, Field::kClass},
       {cf::kOwnName, Field::kOwnName}}};
  Key key;
  for (const auto& [text, field] : kFields) {
    if (text == name) key.field = field;
  }
  key.text = internUtf8(unescaped(name), strings);
  return key;
}

void PerfettoState::clear() { *this = {}; }

void PerfettoState::addInterned(std::string_view message, StringTable& strings) {
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (!field.isBytes) continue;
    std::uint64_t iid = 0;
    std::string_view text;
    WireFields entry(field.bytes);
    for (WireField part; entry.next(part);) {
      if (part.isVarint(pf::interned::kIid)) iid = part.value;
      if (part.isBytesOf(pf::interned::kText)) text = part.bytes;
    }
    switch (field.number) {
      case pf::interned::kCategories:
        categories_[iid] = {internUtf8(text, strings), jobKindFromLogName(text)};
        break;
      case pf::interned::kEventNames: names_[iid] = {internUtf8(text, strings)}; break;
      case pf::interned::kAnnotationNames: keys_[iid] = keyOf(text, strings); break;
      case pf::interned::kTexts: texts_[iid] = {internUtf8(text, strings)}; break;
      default: break;
    }
  }
}

void PerfettoState::setDefaults(std::string_view message) {
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(pf::defaults::kTimestampClock)) clock = field.value;
    if (!field.isBytesOf(pf::defaults::kTrackEvent)) continue;
    WireFields ofEvents(field.bytes);
    for (WireField part; ofEvents.next(part);) {
      if (part.isVarint(pf::defaults::kTrack)) track = part.value;
    }
  }
}

PerfettoEvent readPerfettoEvent(std::string_view message, const PerfettoState& state,
                                Timeline& timeline) {
  return EventReader(state, timeline).read(message);
}

}  // namespace pipetrace
