#pragma once

#include <cstdint>

#include "trace/bubble_class.h"
#include "trace/job_kind.h"
#include "trace/nanoseconds.h"
#include "trace/phase.h"
#include "trace/strings/string_table.h"

namespace pipetrace {

/// A field of an event that the log did not give.
inline constexpr std::int32_t kNotGiven = -1;

/// One event on one lane of one rank. It covers the half-open stretch [begin, end).
struct Event {
  Nanoseconds begin = 0;  ///< since the Unix epoch, in the clock of the rank that logged it
  Nanoseconds end = 0;    ///< >= begin
  /// A job's number on its rank (`id = …`, never reused). A transfer, collective or kernel has the
  /// id of the job that it belongs to (`job = …`).
  std::int64_t job = kNotGiven;
  std::int32_t step = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int32_t stage = kNotGiven;   ///< virtual stage, 0 .. stages * chunks - 1
  std::int32_t peer = kNotGiven;    ///< rank at the other end of a transfer
  std::int32_t number = kNotGiven;  ///< the n of `Job (n)`; not unique
  StringId name = 0;                ///< empty: displayName() makes one from kind and numbers
  std::uint32_t firstArgument = 0;  ///< index into Timeline::arguments
  std::uint16_t argumentCount = 0;
  std::int16_t chunk = kNotGiven;  ///< index of the stage on its rank
  std::int16_t part = kNotGiven;   ///< sub-job
  JobKind kind = JobKind::kOther;
  BubbleClass bubbleClass = BubbleClass::kNone;
  Phase phase = Phase::kTraining;  ///< of its step

  Nanoseconds duration() const { return end - begin; }
};
static_assert(sizeof(Event) <= 64, "100 million jobs have to fit a workstation");

/// The order of events on a track.
inline bool startsBefore(const Event& a, const Event& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  if (a.end != b.end) return a.end < b.end;
  return a.job < b.job;
}

enum class ArgumentType : std::uint32_t { kInteger, kReal, kText };

/// One `key = value` of an event that has no field of its own. Strings are interned in the
/// timeline's table. 16 bytes.
struct Argument {
  StringId key = 0;
  ArgumentType type = ArgumentType::kInteger;
  union {
    std::int64_t integer = 0;
    double real;
    StringId text;
  };

  static Argument ofInteger(StringId key, std::int64_t value) {
    Argument a;
    a.key = key;
    a.integer = value;
    return a;
  }
  static Argument ofReal(StringId key, double value) {
    Argument a;
    a.key = key;
    a.type = ArgumentType::kReal;
    a.real = value;
    return a;
  }
  static Argument ofText(StringId key, StringId value) {
    Argument a;
    a.key = key;
    a.type = ArgumentType::kText;
    a.text = value;
    return a;
  }
};
static_assert(sizeof(Argument) == 16);

}  // namespace pipetrace
