#include "parser/foreign/logs/pipeline_logger_reader.h"

#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "parser/json/json_objects.h"
#include "parser/json/microseconds.h"
#include "trace/text/number_text.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

constexpr std::string_view kStart = "_start";
constexpr std::string_view kEnd = "_end";

/// One line of the logger.
struct Entry {
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> miniBatch;
  std::string event;
  std::optional<Nanoseconds> time;
  std::int64_t otherFields = 0;
};

/// Reads seconds as nanoseconds, digit by digit: the same number with an exponent six higher is one
/// of microseconds.
std::optional<Nanoseconds> parseSeconds(std::string_view text) {
  const std::size_t mark = text.find_first_of("eE");
  int exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view power = text.substr(mark + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
    const bool isWhole = end == power.data() + power.size() && error == std::errc();
    if (!isWhole || exponent > std::numeric_limits<int>::max() - 6) return std::nullopt;
  }
  return parseMicroseconds(std::string(text.substr(0, mark)) + "e" + std::to_string(exponent + 6));
}

/// The handler that nlohmann's parser calls for each token of one object.
class EntryHandler {
 public:
  explicit EntryHandler(Entry& entry) : entry_(entry) {}

  bool start_object(std::size_t) { return ++depth_, true; }
  bool end_object() { return --depth_, true; }
  bool start_array(std::size_t) { return ++depth_, true; }
  bool end_array() { return --depth_, true; }
  bool key(std::string& text) {
    if (depth_ == 1) {
      key_ = text;
      if (!isKnown(text)) ++entry_.otherFields;
    }
    return true;
  }
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value) {
    return value > static_cast<std::uint64_t>(kNsMax) || integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double, const std::string& digits) {
    if (depth_ == 1 && key_ == "time") entry_.time = parseSeconds(numberWithPoint(digits));
    return true;
  }
  bool string(std::string& text) {
    if (depth_ == 1 && key_ == "event") entry_.event = text;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

 private:
  static bool isKnown(std::string_view key) {
    return key == "rank" || key == "event" || key == "time" || isMiniBatch(key);
  }
  static bool isMiniBatch(std::string_view key) {
    return key == "minibatch" || key == "microbatch" || key == "micro_batch";
  }

  bool integer(std::int64_t value) {
    if (depth_ != 1) return true;
    if (key_ == "rank") entry_.rank = value;
    if (isMiniBatch(key_)) entry_.miniBatch = value;
    if (key_ == "time") entry_.time = parseSeconds(std::to_string(value));
    return true;
  }

  Entry& entry_;
  int depth_ = 0;
  std::string key_;
};

std::string_view loggerLane(JobKind kind) {
  if (isSend(kind)) return kSendLane;
  if (isRecv(kind)) return kRecvLane;
  return isComputeLane(kind) ? kComputeLane : "other";
}

class LoggerReader {
 public:
  LoggerReader(const std::string& file, const ReadRequest& request, Timeline& timeline,
               Diagnostics& diagnostics)
      : file_(file), request_(request), timeline_(timeline), diagnostics_(diagnostics) {}

  void add(std::string_view object, std::int64_t line) {
    Entry entry;
    EntryHandler handler(entry);
    const std::string text = isUtf8(object) ? std::string() : toUtf8(object);
    const std::string_view json = text.empty() ? object : std::string_view(text);
    if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) {
      return complain("an entry is no valid JSON and was left out", line);
    }
    const std::int64_t rank = entry.rank.value_or(request_.rankOfFile());
    isRankGuessed_ = isRankGuessed_ || (!entry.rank && request_.isRankGuessed());
    const std::int64_t miniBatch = entry.miniBatch.value_or(kNotGiven);
    const bool fits = rank >= 0 && rank <= kHighestRank && miniBatch >= kNotGiven &&
                      miniBatch <= std::numeric_limits<std::int32_t>::max();
    if (entry.event.empty() || !entry.time || !fits) {
      return complain("an entry has no event, rank, minibatch or time that can be used", line);
    }
    otherFields_ += entry.otherFields;
    const std::string_view event = entry.event;
    const Key key{static_cast<int>(rank), static_cast<std::int32_t>(miniBatch), ""};
    if (event.ends_with(kStart)) {
      begin(key, event.substr(0, event.size() - kStart.size()), *entry.time, line);
    } else if (event.ends_with(kEnd)) {
      end(key, event.substr(0, event.size() - kEnd.size()), *entry.time, line);
    } else {
      diagnostics_.add({.severity = Severity::kNote,
                        .file = file_,
                        .line = line,
                        .message = "an event that neither starts nor ends something was left out"});
    }
  }

  bool isRankGuessed() const { return isRankGuessed_; }

  std::int64_t finish() {
    for (const auto& [key, begins] : open_) {
      for (const Begin& begin : begins) {
        complain("a start has no end and was left out", begin.line,
                 "the recording was stopped in the middle of it");
      }
    }
    if (otherFields_ > 0) {
      diagnostics_.add({.severity = Severity::kNote,
                        .file = file_,
                        .message = "a field of an unknown name was left out",
                        .count = otherFields_});
    }
    return count_;
  }

 private:
  struct Begin {
    Nanoseconds time = 0;
    std::int64_t line = 0;
  };
  using Key = std::tuple<int, std::int32_t, std::string>;  // rank, minibatch, what

  void complain(const char* message, std::int64_t line, const char* advice = "") {
    diagnostics_.add({.file = file_, .line = line, .message = message, .advice = advice});
  }

  void begin(Key key, std::string_view what, Nanoseconds time, std::int64_t line) {
    std::get<2>(key) = what;
    open_[std::move(key)].push_back({time, line});
  }

  void end(Key key, std::string_view what, Nanoseconds time, std::int64_t line) {
    std::get<2>(key) = what;
    const auto found = open_.find(key);
    if (found == open_.end()) return complain("an end has no start and was left out", line);
    Event event;
    event.begin = found->second.back().time;
    event.end = time;
    found->second.pop_back();
    if (found->second.empty()) open_.erase(found);
    if (event.end < event.begin) {
      return complain("a job ends before it starts and was left out", line);
    }
    event.kind = jobKindFromLogName(what);
    if (event.kind == JobKind::kOther) event.name = timeline_.strings.intern(what);
    event.microBatch = std::get<1>(key);
    timeline_.track(std::get<0>(key), loggerLane(event.kind)).events.push_back(event);
    ++count_;
  }

  const std::string& file_;
  const ReadRequest& request_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::map<Key, std::vector<Begin>> open_;
  bool isRankGuessed_ = false;
  std::int64_t otherFields_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace

FormatMatch PipelineLoggerReader::probe(std::string_view head) const {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) {
    return FormatMatch::kNo;
  }
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  const bool isOurs = has("\"event\"") && has("\"time\"") && (has("_start\"") || has("_end\""));
  if (!isOurs || has("\"traceEvents\"") || has("\"ph\"")) return FormatMatch::kNo;
  return FormatMatch::kCertain;
}

ReadOutcome PipelineLoggerReader::read(ByteSource& source, const ReadRequest& request,
                                       Timeline& timeline, Diagnostics& diagnostics) const {
  if (request.run >= 0) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "a profile holds one run only, which was read whatever --run says"});
  }
  JsonObjects objects(source);
  LoggerReader reader(source.name(), request, timeline, diagnostics);
  std::int64_t count = 0;
  for (std::string_view object; objects.next(object); ++count) reader.add(object, objects.line());
  if (objects.broken() > 0) {
    diagnostics.add({.file = source.name(),
                     .message = "an entry does not end and was left out",
                     .advice = "the file may be cut off; copy it again",
                     .count = objects.broken()});
  }
  ReadOutcome outcome;
  outcome.events = reader.finish();
  outcome.process.isRankGuessed = reader.isRankGuessed();
  if (outcome.events == 0) {
    outcome.whyNone = "it is JSON with " + std::to_string(count) +
                      " entries, none of them a pair of \"<job>_start\" and \"<job>_end\"";
  }
  return outcome;
}

}  // namespace pipetrace
