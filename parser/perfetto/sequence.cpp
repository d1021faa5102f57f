#include "parser/perfetto/sequence.h"

#include <algorithm>
#include <array>
#include <protozero/pbf_writer.hpp>

#include "parser/perfetto/format.h"
#include "parser/perfetto/wire.h"
#include "parser/profile/common_format.h"
#include "trace/text/display_name.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

namespace cf = common_format;
namespace pf = perfetto_format;
using namespace perfetto_wire;

/// The names of an event's own fields; the interned number of each is its position plus one.
constexpr std::array kFields = {cf::kJob,   cf::kStep,  cf::kMicroBatch, cf::kStage,
                                cf::kChunk, cf::kPart,  cf::kNumber,     cf::kPeer,
                                cf::kPhase, cf::kClass, cf::kOwnName};
enum Field : std::uint32_t {
  kJobField,
  kStepField,
  kMicroBatchField,
  kStageField,
  kChunkField,
  kPartField,
  kNumberField,
  kPeerField,
  kPhaseField,
  kClassField,
  kOwnNameField,
};

/// Numbers of iids_ come after those of kFields.
constexpr std::uint32_t kFirstDynamic = 32;

/// The sort of name that a key of iids_ stands for, in its upper bits.
enum class Interned : std::uint64_t {
  kOwnName = 1,
  kNumberedName,
  kPlainName,
  kBubbleName,
  kArgumentName,
  kEscapedName,
  kText,
};

constexpr std::uint64_t keyOf(Interned what, std::uint64_t low) {
  return (static_cast<std::uint64_t>(what) << 56) | low;
}

std::uint64_t nameKey(const Event& event) {
  if (event.name != 0) return keyOf(Interned::kOwnName, event.name);
  if (event.kind == JobKind::kBubble) {
    return keyOf(Interned::kBubbleName, static_cast<std::uint64_t>(event.bubbleClass));
  }
  const auto kind = static_cast<std::uint64_t>(event.kind);
  if (event.microBatch < 0 || (!isCompute(event.kind) && !isTransfer(event.kind))) {
    return keyOf(Interned::kPlainName, kind);
  }
  return keyOf(Interned::kNumberedName,
               (kind << 32) | static_cast<std::uint32_t>(event.microBatch));
}

/// Whether the event's own name equals the one that it would get without.
bool looksMadeUp(const Timeline& timeline, const Event& event) {
  return event.name != 0 && isFallbackName(event, timeline.strings[event.name]);
}

constexpr std::size_t kMostFieldBytes = 512;  // of an event without further arguments
constexpr std::size_t kMostArgumentBytes = 32;

}  // namespace

ReservedKeys::ReservedKeys(const StringTable& strings) : reserved_(strings.size()) {
  for (std::size_t id = 0; id < strings.size(); ++id) {
    const std::string_view key = strings[static_cast<StringId>(id)];
    reserved_[id] = std::find(kFields.begin(), kFields.end(), key) != kFields.end() ||
                    key.starts_with(cf::kEscapedKey);
  }
}

PerfettoSequence::PerfettoSequence(const Timeline& timeline, const ReservedKeys& reserved,
                                   std::uint32_t number)
    : timeline_(timeline), reserved_(reserved), number_(number), event_(kMostFieldBytes) {
  protozero::pbf_writer head(head_);
  head.add_uint32(pf::packet::kSequence, number);
  head.add_uint64(pf::packet::kSequenceFlags, pf::kNeedsIncrementalState);
  protozero::pbf_writer end(end_);
  end.add_uint64(pf::event::kType, pf::event::kEnd);
  end.add_uint64(pf::event::kTrack, number);
}

void PerfettoSequence::appendDescriptor(PacketBuffer& out, std::string_view descriptor) const {
  std::string track;
  protozero::pbf_writer(track).add_uint64(pf::track::kUuid, number_);
  track += descriptor;
  std::string packet;
  protozero::pbf_writer writer(packet);
  writer.add_uint32(pf::packet::kSequence, number_);
  writer.add_uint64(pf::packet::kSequenceFlags, pf::kIncrementalStateCleared);
  writer.add_bool(pf::packet::kFirstOnSequence, true);
  writer.add_message(pf::packet::kTrackDescriptor, track);
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(pf::kPacket, packet);
  out.used(std::copy(bytes.begin(), bytes.end(), out.room(bytes.size())));
}

void PerfettoSequence::appendBegin(PacketBuffer& out, const Event& event, std::uint64_t time,
                                   PerfettoFlow flow) {
  event_.resize(
      std::max(event_.size(), kMostFieldBytes + kMostArgumentBytes * event.argumentCount));
  char* at = event_.data();
  at = putVarintField(at, pf::event::kType, pf::event::kBegin);
  at = putVarintField(at, pf::event::kTrack, number_);
  at = putVarintField(at, pf::event::kNameIid, nameOf(event));
  at = putVarintField(at, pf::event::kCategoryIid, categoryOf(event.kind));
  at = putArguments(at, event);
  if (flow.id != 0) {
    at = flow.isLast ? putFixed64Field(at, pf::event::kEndOfFlow, flow.id)
                     : putFixed64Field(at, pf::event::kFlow, flow.id);
  }
  if (flow.endOfLaunch != 0) {
    at = putFixed64Field(at, pf::event::kEndOfFlow, flow.endOfLaunch);
  }
  appendPacket(out, time, {event_.data(), static_cast<std::size_t>(at - event_.data())});
}

void PerfettoSequence::appendEnd(PacketBuffer& out, std::uint64_t time) {
  appendPacket(out, time, end_);
}

void PerfettoSequence::appendSample(PacketBuffer& out, std::uint64_t time, double value) {
  char* at = event_.data();
  at = putVarintField(at, pf::event::kType, pf::event::kCounter);
  at = putVarintField(at, pf::event::kTrack, number_);
  at = putFixed64Field(at, pf::event::kDoubleCounterValue, std::bit_cast<std::uint64_t>(value));
  appendPacket(out, time, {event_.data(), static_cast<std::size_t>(at - event_.data())});
}

void PerfettoSequence::appendPacket(PacketBuffer& out, std::uint64_t time,
                                    std::string_view trackEvent) {
  const auto put = [](char* to, std::string_view bytes) {
    return std::copy(bytes.begin(), bytes.end(), to);
  };
  std::size_t size =
      1 + varintSize(time) + head_.size() + 1 + varintSize(trackEvent.size()) + trackEvent.size();
  if (!interned_.empty()) size += 1 + varintSize(interned_.size()) + interned_.size();
  char* at = out.room(1 + kLongestVarint + size);
  at = putVarint(putTag(at, pf::kPacket, 2), size);
  at = putVarintField(at, pf::packet::kTimestamp, time);
  at = put(at, head_);
  if (!interned_.empty()) {
    at = putVarint(putTag(at, pf::packet::kInternedData, 2), interned_.size());
    at = put(at, interned_);
    interned_.clear();
  }
  at = putVarint(putTag(at, pf::packet::kTrackEvent, 2), trackEvent.size());
  out.used(put(at, trackEvent));
}

std::uint32_t PerfettoSequence::nameOf(const Event& event) {
  const auto [number, isNew] = iids_(nameKey(event));
  if (isNew) {
    intern(pf::interned::kEventNames, kFirstDynamic + number, displayName(timeline_, event));
  }
  return kFirstDynamic + number;
}

std::uint32_t PerfettoSequence::categoryOf(JobKind kind) {
  const auto index = static_cast<std::uint32_t>(kind);
  if ((kindsSent_ & (1U << index)) == 0) {
    kindsSent_ |= 1U << index;
    intern(pf::interned::kCategories, index + 1, logName(kind));
  }
  return index + 1;
}

char* PerfettoSequence::putArguments(char* to, const Event& event) {
  to = putField(to, kJobField, event.job);
  to = putField(to, kStepField, event.step);
  to = putField(to, kMicroBatchField, event.microBatch);
  to = putField(to, kStageField, event.stage);
  to = putField(to, kChunkField, event.chunk);
  to = putField(to, kPartField, event.part);
  to = putField(to, kNumberField, event.number);
  to = putField(to, kPeerField, event.peer);
  if (event.phase != Phase::kTraining) {
    to = putField(to, kPhaseField, static_cast<std::int64_t>(event.phase));
  }
  if (event.bubbleClass != BubbleClass::kNone) {
    to = putField(to, kClassField, static_cast<std::int64_t>(event.bubbleClass));
  }
  if (looksMadeUp(timeline_, event)) to = putField(to, kOwnNameField, 1);
  const auto list = timeline_.argumentsOf(event);
  for (std::size_t i = 0; i < list.size(); ++i)
    to = putArgument(to, argumentName(list, i), list[i]);
  return to;
}

/// Writes a field, unless it was not given. Phases and classes of bubbles are written as names.
char* PerfettoSequence::putField(char* to, std::uint32_t field, std::int64_t value) {
  if (value == kNotGiven) return to;
  if ((fieldsSent_ & (1U << field)) == 0) {
    fieldsSent_ |= 1U << field;
    intern(pf::interned::kAnnotationNames, field + 1, kFields[field]);
  }
  const bool isName = field == kPhaseField || field == kClassField;
  if (!isName) return putArgument(to, field + 1, Argument::ofInteger(0, value));
  const std::string_view text = field == kPhaseField
                                    ? logName(static_cast<Phase>(value))
                                    : bubbleClassName(static_cast<BubbleClass>(value));
  to = putVarint(putTag(to, pf::event::kAnnotation, 2), 4 + text.size());
  to = putVarintField(to, pf::annotation::kNameIid, field + 1);
  to = putVarint(putTag(to, pf::annotation::kText, 2), text.size());
  return std::copy(text.begin(), text.end(), to);
}

char* PerfettoSequence::putArgument(char* to, std::uint32_t name, const Argument& argument) {
  to = putTag(to, pf::event::kAnnotation, 2);
  char* const size = to++;  // one byte: an annotation without text of its own is shorter than 128
  to = putVarintField(to, pf::annotation::kNameIid, name);
  switch (argument.type) {
    case ArgumentType::kInteger:
      to = putVarintField(to, pf::annotation::kInteger,
                          static_cast<std::uint64_t>(argument.integer));
      break;
    case ArgumentType::kReal:
      to = putFixed64Field(to, pf::annotation::kReal, std::bit_cast<std::uint64_t>(argument.real));
      break;
    case ArgumentType::kText:
      to = putVarintField(to, pf::annotation::kTextIid, textOf(argument.text));
      break;
  }
  *size = static_cast<char>(to - size - 1);
  return to;
}

/// The name of an argument. A key that means a field, or came before, is written as
/// `arg.<position>.<key>`.
std::uint32_t PerfettoSequence::argumentName(std::span<const Argument> list, std::size_t position) {
  const StringId key = list[position].key;
  bool isPlain = !reserved_.has(key);
  for (std::size_t i = 0; i < position && isPlain; ++i) isPlain = list[i].key != key;
  const auto [number, isNew] =
      iids_(isPlain ? keyOf(Interned::kArgumentName, key)
                    : keyOf(Interned::kEscapedName, (std::uint64_t{position} << 32) | key));
  if (isNew) {
    std::string name;
    if (!isPlain) name = std::string(cf::kEscapedKey) + std::to_string(position) + ".";
    intern(pf::interned::kAnnotationNames, kFirstDynamic + number,
           name + std::string(timeline_.strings[key]));
  }
  return kFirstDynamic + number;
}

std::uint32_t PerfettoSequence::textOf(StringId text) {
  const auto [number, isNew] = iids_(keyOf(Interned::kText, text));
  if (isNew) intern(pf::interned::kTexts, kFirstDynamic + number, timeline_.strings[text]);
  return kFirstDynamic + number;
}

void PerfettoSequence::intern(std::uint32_t table, std::uint32_t iid, std::string_view text) {
  protozero::pbf_writer entries(interned_);
  protozero::pbf_writer entry(entries, table);
  entry.add_uint64(pf::interned::kIid, iid);
  entry.add_string(pf::interned::kText, isUtf8(text) ? std::string(text) : toUtf8(text));
}

}  // namespace pipetrace
