#include "parser/job_log/lines/log_events.h"

#include <charconv>
#include <limits>
#include <string>

#include "parser/job_log/lines/job_head.h"
#include "parser/job_type.h"
#include "parser/log_argument.h"
#include "trace/append.h"
#include "trace/log/log_format.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

template <typename Small>
bool narrow(std::int64_t value, Small& out) {
  if (value < std::numeric_limits<Small>::min() || value > std::numeric_limits<Small>::max()) {
    return false;
  }
  out = static_cast<Small>(value);
  return true;
}

/// Sets `out` when the text is a number that fits it.
template <typename Small>
bool readInto(std::string_view text, Small& out) {
  const auto value = parseNumber<Small>(text);
  if (value) out = *value;
  return value.has_value();
}

bool readTime(std::string_view text, Nanoseconds& out) {
  const auto time = parseDecimalTime(text, kNsPerMs);
  if (time) out = *time;
  return time.has_value();
}

/// A loss can be infinite, or no number any more.
bool readReal(std::string_view text, double& out) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, out);
  return result.ec == std::errc{} && result.ptr == end;
}

/// The phase that a field names.
std::optional<Phase> phaseOf(const LogFields::Field& field) {
  return field.key == lf::kPhase ? phaseFromLogName(field.value) : std::nullopt;
}

/// The lane of a stream that its line does not name.
std::string_view defaultLane(const Event& event) {
  if (event.kind == JobKind::kKernel) return kKernelsLane;
  if (isSend(event.kind)) return kSendLane;
  if (isRecv(event.kind)) return kRecvLane;
  return event.kind == JobKind::kOther ? std::string_view("other") : logName(event.kind);
}

}  // namespace

void LogEvents::setType(Event& event, std::string_view type) {
  const JobType parsed = parseJobType(type);
  event.kind = parsed.kind;
  if (parsed.chunk != kNotGiven) event.chunk = parsed.chunk;
  if (parsed.part != kNotGiven) event.part = parsed.part;
  if (parsed.kind == JobKind::kOther) event.name = strings_.intern(type);
}

/// Adds a key that jobs, transfers and kernels have in common.
void LogEvents::addField(RankPart& part, Event& event, const LogFields::Field& field,
                         std::int64_t number) {
  bool fits = true;
  if (field.key == lf::kStep) {
    fits = readInto(field.value, event.step);
  } else if (field.key == lf::kStage) {
    fits = readInto(field.value, event.stage);
  } else if (field.key == lf::kChunk) {
    fits = readInto(field.value, event.chunk);
  } else if (field.key == lf::kPart) {
    fits = readInto(field.value, event.part);
  } else if (field.key == lf::kPeer) {
    fits = readInto(field.value, event.peer);
  } else if (const auto phase = phaseOf(field)) {
    event.phase = *phase;
  } else {
    arguments_.push_back(argumentFromLog(field.key, field.value, field.quoted, strings_));
  }
  if (!fits) part.findings.add(LogFinding::kBadValue, number);
}

void LogEvents::finish(RankPart& part, Event& event, std::string_view lane, std::int64_t number) {
  if (event.end < event.begin) {
    part.findings.add(LogFinding::kEndBeforeStart, number);
    return;
  }
  if (!arguments_.empty()) setArguments(event, arguments_, part.arguments);
  part.laneOf(lane).push_back(event);
}

void LogEvents::addJob(RankPart& part, std::string_view line, std::int64_t number) {
  JobHead head;
  const HeadResult result = readHead(line, head);
  Event event;
  if (result == HeadResult::kNoMatch) {
    part.findings.add(LogFinding::kNotUnderstood, number);
    return;
  }
  if (result == HeadResult::kNumberOutOfRange || !narrow(head.number, event.number) ||
      !narrow(head.microBatch, event.microBatch)) {
    part.findings.add(LogFinding::kNumberOutOfRange, number);
    return;
  }
  event.begin = head.begin;
  event.end = head.end;
  arguments_.clear();
  LogFields::Field field;
  if (head.type.front() == '"') {
    const std::string quoted = "type = " + std::string(head.type);
    if (LogFields typeField(quoted); typeField.next(field)) setType(event, field.value);
  } else {
    setType(event, head.type);
  }
  LogFields fields(head.tail.starts_with(", ") ? head.tail.substr(2) : std::string_view{});
  while (fields.next(field)) {
    const bool isComputeStream = field.key == lf::kStreamKey && field.value == kComputeLane;
    if (isComputeStream) continue;
    if (field.key == lf::kId) {
      if (!readInto(field.value, event.job)) part.findings.add(LogFinding::kBadValue, number);
    } else {
      addField(part, event, field, number);
    }
  }
  if (fields.malformed()) part.findings.add(LogFinding::kMalformedField, number);
  finish(part, event, kComputeLane, number);
}

/// The fields so far of a line about a stream or a kernel.
struct LogEvents::Span {
  Event event;
  bool hasBegin = false;
  bool hasEnd = false;
  bool hasName = false;
  std::string lane;
};

/// Adds a key that a job's line lacks; false when the value does not fit.
bool LogEvents::addSpanField(RankPart& part, Span& span, const LogFields::Field& field,
                             std::int64_t number) {
  Event& event = span.event;
  const bool isKernel = event.kind == JobKind::kKernel;
  if (field.key == lf::kStart) return span.hasBegin = readTime(field.value, event.begin);
  if (field.key == lf::kEndTime) return span.hasEnd = readTime(field.value, event.end);
  if (field.key == lf::kMicroBatch) return readInto(field.value, event.microBatch);
  if (field.key == lf::kJobKey) return readInto(field.value, event.job);
  if (isKernel && field.key == lf::kName) {
    event.name = strings_.intern(field.value);
    span.hasName = true;
  } else if (!isKernel && field.key == lf::kType) {
    setType(event, field.value);
    span.hasName = true;
  } else if (!isKernel && field.key == lf::kStreamKey) {
    span.lane = field.value;
  } else {
    addField(part, event, field, number);
  }
  return true;
}

void LogEvents::addSpan(RankPart& part, std::string_view payload, JobKind kind,
                        std::int64_t number) {
  Span span;
  span.event.kind = kind;
  arguments_.clear();
  LogFields fields(payload);
  LogFields::Field field;
  while (fields.next(field)) {
    if (!addSpanField(part, span, field, number)) part.findings.add(LogFinding::kBadValue, number);
  }
  if (fields.malformed()) part.findings.add(LogFinding::kMalformedField, number);
  if (!span.hasBegin || !span.hasEnd || !span.hasName) {
    part.findings.add(LogFinding::kNotUnderstood, number);
    return;
  }
  const std::string_view lane = span.lane;
  finish(part, span.event, lane.empty() ? defaultLane(span.event) : lane, number);
}

void LogEvents::addStream(RankPart& part, std::string_view payload, std::int64_t number) {
  addSpan(part, payload, JobKind::kOther, number);
}

void LogEvents::addKernel(RankPart& part, std::string_view payload, std::int64_t number) {
  addSpan(part, payload, JobKind::kKernel, number);
}

void LogEvents::addCounter(RankPart& part, std::string_view payload, std::int64_t number) {
  CounterSample sample;
  std::string name;
  std::string unit;
  bool hasTime = false;
  bool hasValue = false;
  LogFields fields(payload);
  LogFields::Field field;
  while (fields.next(field)) {
    if (field.key == lf::kName) {
      name = field.value;
    } else if (field.key == lf::kUnit) {
      unit = field.value;
    } else if (field.key == lf::kTime) {
      hasTime = readTime(field.value, sample.time);
    } else if (field.key == lf::kValue) {
      hasValue = readReal(field.value, sample.value);
    }
  }
  if (fields.malformed()) part.findings.add(LogFinding::kMalformedField, number);
  if (!hasTime || !hasValue || name.empty()) {
    part.findings.add(LogFinding::kNotUnderstood, number);
    return;
  }
  CounterSeries& series = part.counters[name];
  if (series.name.empty()) {
    series.name = name;
    series.unit = unit;
  }
  series.samples.push_back(sample);
}

}  // namespace pipetrace
