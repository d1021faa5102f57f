#include "parser/job_log/lines/canonical_lines.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "parser/job_log/lines/job_head.h"
#include "parser/job_log/lines/log_line.h"
#include "parser/log_argument.h"
#include "trace/append.h"
#include "trace/log/log_format.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

/// Takes a number without a sign; false when it does not fit the field.
template <typename Small>
bool readNumber(LogScanner& scan, Small& out) {
  std::int64_t value = 0;
  if (!scan.number(value) || value > std::numeric_limits<Small>::max()) return false;
  out = static_cast<Small>(value);
  return true;
}

/// Whether a value may end here.
bool valueEnds(LogScanner& scan) {
  const std::string_view rest = scan.rest();
  return rest.starts_with(", ") || rest.starts_with('\n') || rest.starts_with("\r\n");
}

bool lineEnds(LogScanner& scan) { return scan.literal("\n") || scan.literal("\r\n"); }

/// A key as a number; 0 where it is too long.
constexpr std::uint64_t numberOf(std::string_view key) {
  std::uint64_t number = 0;
  if (key.size() > sizeof number) return 0;
  for (const char c : key) number = number << 8U | static_cast<unsigned char>(c);
  return number;
}

/// Keys that a stream's line has once, before the others; repeated here, they need LogEvents.
bool isOfStreamHead(std::string_view key) {
  return key == lf::kType || key == lf::kMicroBatch || key == lf::kStart || key == lf::kEndTime ||
         key == lf::kStreamKey;
}

}  // namespace

void CanonicalLines::setPart(RankPart& part) {
  part_ = &part;
  lanes_.clear();
  counter_ = nullptr;
}

std::size_t CanonicalLines::read(std::string_view text) {
  LogScanner scan(text);
  if (text.starts_with(lf::kCounter)) {
    return readCounter(scan) ? text.size() - scan.rest().size() : 0;
  }
  Line line;
  arguments_.clear();
  line.isJob = text.starts_with(lf::kInfo);
  const bool isRead = line.isJob ? readJob(scan, line) : readStream(scan, line);
  if (!isRead || !readFields(scan, line) || line.event.end < line.event.begin) return 0;
  add(line);
  return text.size() - scan.rest().size();
}

bool CanonicalLines::readJob(LogScanner& scan, Line& line) {
  JobHead head;
  if (!takeCanonicalHead(scan, head)) return false;
  constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();
  if (head.number > kHighest || head.microBatch > kHighest) return false;
  line.event.number = static_cast<std::int32_t>(head.number);
  line.event.microBatch = static_cast<std::int32_t>(head.microBatch);
  line.event.begin = head.begin;
  line.event.end = head.end;
  setType(line.event, head.type);
  line.lane = kComputeLane;
  return true;
}

bool CanonicalLines::readStream(LogScanner& scan, Line& line) {
  std::string_view type;
  if (!scan.literal("Profiler Stream: type = ") || !scan.word(type)) return false;
  const bool isRead =
      (!scan.literal(", micro_batch_id = ") || readNumber(scan, line.event.microBatch)) &&
      scan.literal(", start_time = ") && scan.milliseconds(line.event.begin) &&
      scan.literal(", end_time = ") && scan.milliseconds(line.event.end) &&
      scan.literal(", stream = ") && scan.bareValue(line.lane);
  if (isRead) setType(line.event, type);
  return isRead;
}

bool CanonicalLines::readCounter(LogScanner& scan) {
  std::string_view name;
  std::string_view text;
  CounterSample sample;
  const bool isRead = scan.literal("Profiler Counter: name = ") && scan.bareValue(name) &&
                      scan.literal(", time = ") && scan.milliseconds(sample.time) &&
                      scan.literal(", value = ") && scan.bareValue(text) && lineEnds(scan);
  const std::optional<double> value = isRead ? parseNumber<double>(text) : std::nullopt;
  if (!value) return false;
  sample.value = *value;
  if (counter_ == nullptr || counter_->name != name) {
    auto found = part_->counters.find(name);
    if (found == part_->counters.end()) {
      found = part_->counters.try_emplace(std::string(name)).first;
      found->second.name = name;
    }
    counter_ = &found->second;
  }
  counter_->samples.push_back(sample);
  return true;
}

bool CanonicalLines::readFields(LogScanner& scan, Line& line) {
  while (!lineEnds(scan)) {
    std::string_view key;
    if (!scan.literal(", ") || !scan.word(key) || !scan.literal(" = ")) return false;
    if (!readField(scan, line, key) || !valueEnds(scan)) return false;
  }
  return true;
}

bool CanonicalLines::readField(LogScanner& scan, Line& line, std::string_view key) {
  Event& event = line.event;
  switch (numberOf(key)) {
    case numberOf(lf::kStep): return readNumber(scan, event.step);
    case numberOf(lf::kStage): return readNumber(scan, event.stage);
    case numberOf(lf::kChunk): return readNumber(scan, event.chunk);
    case numberOf(lf::kPart): return readNumber(scan, event.part);
    case numberOf(lf::kPeer): return readNumber(scan, event.peer);
    case numberOf(lf::kId):
      if (line.isJob) return readNumber(scan, event.job);
      break;
    case numberOf(lf::kJobKey):
      if (!line.isJob) return readNumber(scan, event.job);
      break;
    default: break;
  }
  if (!line.isJob && isOfStreamHead(key)) return false;
  if (key == lf::kPhase) {
    if (scan.rest().starts_with('"')) return false;  // LogEvents knows whether it is a phase
    if (readPhase(scan, line.event)) return true;
  }
  return readText(scan, line, key);
}

/// Takes a phase; nothing where the text is another, which is an argument then.
bool CanonicalLines::readPhase(LogScanner& scan, Event& event) {
  LogScanner ahead = scan;
  std::string_view name;
  const bool isRead = ahead.bareValue(name);
  const auto phase = isRead ? phaseFromLogName(name) : std::nullopt;
  if (!phase) return false;
  event.phase = *phase;
  scan = ahead;
  return true;
}

bool CanonicalLines::readText(LogScanner& scan, Line& line, std::string_view key) {
  LogFields::Field field{.key = key, .value = {}, .quoted = scan.literal("\"")};
  if (field.quoted) {
    if (!scan.quotedText(field.value)) return false;
  } else if (!scan.bareValue(field.value)) {
    return false;
  }
  const bool isComputeStream = line.isJob && key == lf::kStreamKey && field.value == kComputeLane;
  if (isComputeStream) return true;
  if (latestKey_ != key) {
    latestKey_ = key;
    latestKeyId_ = strings_.intern(key);
  }
  arguments_.push_back(argumentFromLog(latestKeyId_, field.value, field.quoted, strings_));
  return true;
}

void CanonicalLines::setType(Event& event, std::string_view type) {
  const std::size_t hash = type.size() + 3 * static_cast<unsigned char>(type.front()) +
                           5 * static_cast<unsigned char>(type.back());
  KnownType& known = types_[hash % types_.size()];
  if (known.text != type) {
    known.text = type;
    known.type = parseJobType(type);
    known.name = known.type.kind == JobKind::kOther ? strings_.intern(type) : 0;
  }
  event.kind = known.type.kind;
  event.name = known.name;
  event.chunk = known.type.chunk;
  event.part = known.type.part;
}

void CanonicalLines::add(const Line& line) {
  auto found = std::find_if(lanes_.begin(), lanes_.end(),
                            [&](const auto& lane) { return lane.first == line.lane; });
  if (found == lanes_.end()) {
    lanes_.emplace_back(line.lane, &part_->laneOf(line.lane));
    found = std::prev(lanes_.end());
  }
  Event& event = found->second->emplace_back(line.event);
  if (!arguments_.empty()) setArguments(event, arguments_, part_->arguments);
}

}  // namespace pipetrace
