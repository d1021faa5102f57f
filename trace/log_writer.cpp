#include "trace/log_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "trace/decimal_time.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

constexpr std::array<bool, 256> kBare = [] {
  std::array<bool, 256> bare{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_.+:/-")) {
    bare[static_cast<unsigned char>(c)] = true;
  }
  return bare;
}();

bool isPlain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(),
                                       [](char c) { return kBare[static_cast<unsigned char>(c)]; });
}

/// ", key = ", made at compile time and copied whole: a copy of fixed size costs two instructions.
struct Key {
  static constexpr std::size_t kRoom = 32;

  constexpr explicit Key(std::string_view name) {
    for (const std::string_view part : {std::string_view(", "), name, std::string_view(" = ")}) {
      for (const char c : part) text.at(size++) = c;
    }
  }
  std::array<char, kRoom> text{};
  std::size_t size = 0;
};

template <const std::string_view& kName>
inline constexpr Key kKey{kName};

constexpr std::size_t kPrefixRoom = 64;

/// A line: prefix, mark, and `key = value` pairs with ", " between them. Collects them in a buffer
/// of its own, as appending to a string piece by piece costs more than the rest.
class Fields {
 public:
  /// `prefix` has kPrefixRoom characters that can be read, however long it is.
  Fields(std::string& out, std::string_view prefix, std::string_view mark) : out_(out) {
    std::memcpy(at_, prefix.data(), kPrefixRoom);
    at_ = std::copy(mark.begin(), mark.end(), at_ + prefix.size());
  }

  [[gnu::always_inline]] void number(const Key& key, std::int64_t value) {
    begin(key);
    print(value);
  }
  [[gnu::always_inline]] void givenNumber(const Key& key, std::int64_t value) {
    if (value != kNotGiven) number(key, value);
  }
  void real(const Key& key, double value) {
    begin(key);
    at_ = std::to_chars(at_, at_ + kNumberRoom, value).ptr;  // the shortest that reads back
  }
  [[gnu::always_inline]] void time(const Key& key, Nanoseconds value) {
    begin(key);
    at_ = printMilliseconds(at_, value);
  }
  void text(const Key& key, std::string_view value) {
    begin(key);
    if (putPlain(value)) return;
    flush();
    appendLogValue(out_, value);
  }
  void givenText(const Key& key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  template <typename Number>
  void given(const Key& key, const std::optional<Number>& value) {
    if (!value) return;
    begin(key);
    at_ = std::to_chars(at_, at_ + kNumberRoom, *value).ptr;
  }
  /// `Job (n)`, the one that is no pair.
  void jobNumber(std::int64_t number) {
    put(lf::kJob);
    makeRoom(kNumberRoom);
    print(number);
    put(")");
    skipComma_ = 0;
  }
  void endLine() {
    put("\n");
    flush();
  }

 private:
  static constexpr std::size_t kNumberRoom = 32;
  static constexpr std::size_t kPlainRoom = 64;

  /// Leaves room for a number behind the key.
  [[gnu::always_inline]] void begin(const Key& key) {
    makeRoom(Key::kRoom + kPlainRoom);
    std::memcpy(at_, key.text.data() + skipComma_, Key::kRoom - 2);
    at_ += key.size - skipComma_;
    skipComma_ = 0;
  }
  [[gnu::always_inline]] void print(std::int64_t value) {
    if (value >= 0 && value <= 9) {
      *at_++ = static_cast<char>('0' + value);
    } else {
      at_ = std::to_chars(at_, at_ + kNumberRoom, value).ptr;
    }
  }
  /// Copies and looks at each character in one go. False: it has to be quoted.
  [[gnu::always_inline]] bool putPlain(std::string_view value) {
    if (value.empty() || value.size() > kPlainRoom) return false;
    bool isPlain = true;
    char* to = at_;
    for (const char c : value) {
      isPlain &= kBare[static_cast<unsigned char>(c)];
      *to++ = c;
    }
    if (isPlain) at_ = to;
    return isPlain;
  }
  void put(std::string_view text) {
    makeRoom(text.size());
    if (text.size() > buffer_.size()) {
      out_ += text;
    } else {
      at_ = std::copy(text.begin(), text.end(), at_);
    }
  }
  void makeRoom(std::size_t bytes) {
    if (static_cast<std::size_t>(buffer_.data() + buffer_.size() - at_) < bytes) flush();
  }
  void flush() {
    out_.append(buffer_.data(), at_);
    at_ = buffer_.data();
  }

  std::string& out_;
  std::size_t skipComma_ = 2;     // the first pair has none before it
  std::array<char, 512> buffer_;  // no {}: zeroing it would cost as much as filling it
  char* at_ = buffer_.data();
};

void addStream(Fields& fields, const StreamLine& line) {
  fields.text(kKey<lf::kType>, line.type);
  fields.givenNumber(kKey<lf::kMicroBatch>, line.microBatch);
  fields.time(kKey<lf::kStart>, line.begin);
  fields.time(kKey<lf::kEndTime>, line.end);
  fields.givenText(kKey<lf::kStreamKey>, line.stream);
  fields.givenNumber(kKey<lf::kPeer>, line.peer);
  fields.givenNumber(kKey<lf::kBytes>, line.bytes);
  fields.givenNumber(kKey<lf::kJobKey>, line.job);
  fields.givenNumber(kKey<lf::kStep>, line.step);
  fields.givenNumber(kKey<lf::kStage>, line.stage);
  fields.givenNumber(kKey<lf::kChunk>, line.chunk);
}

}  // namespace

void appendLogValue(std::string& out, std::string_view value) {
  if (isPlain(value)) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          std::array<char, 8> escape{};
          std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
          out += escape.data();
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::string_view LogWriter::prefix() {
  if (now_ == prefixNow_) return {prefix_.data(), prefixSize_};  // many lines at a time
  Nanoseconds second = now_ / kNsPerSecond;
  if (now_ % kNsPerSecond < 0) --second;
  std::array<char, 32> text{};
  if (second != cachedSecond_) {
    const auto time = static_cast<std::time_t>(second);
    std::tm local{};
    localtime_r(&time, &local);
    const std::size_t n = std::strftime(text.data(), text.size(), "I%m%d %H:%M:%S.", &local);
    secondText_.assign(text.data(), n);
    cachedSecond_ = time;
  }
  const auto micros = static_cast<int>((now_ - second * kNsPerSecond) / kNsPerUs);
  std::snprintf(text.data(), text.size(), "%06d %d ", micros, threadId_);
  prefix_ = secondText_;
  prefix_ += text.data();
  prefix_ += "log_writer.cpp:1] ";
  prefixSize_ = std::min(prefix_.size(), kPrefixRoom);
  prefix_.resize(kPrefixRoom);
  prefixNow_ = now_;
  return {prefix_.data(), prefixSize_};
}

void LogWriter::append(std::string& out, const JobLine& line) {
  Fields fields(out, prefix(), lf::kInfo);
  fields.jobNumber(line.number);
  fields.text(kKey<lf::kType>, line.type);
  fields.number(kKey<lf::kMicroBatch>, line.microBatch);
  fields.time(kKey<lf::kJobStart>, line.begin);
  fields.time(kKey<lf::kJobEnd>, line.end);
  fields.givenNumber(kKey<lf::kId>, line.id);
  fields.givenNumber(kKey<lf::kStep>, line.step);
  fields.givenNumber(kKey<lf::kStage>, line.stage);
  fields.givenNumber(kKey<lf::kChunk>, line.chunk);
  fields.givenText(kKey<lf::kStreamKey>, line.stream);
  fields.givenText(kKey<lf::kAction>, line.action);
  fields.givenNumber(kKey<lf::kPart>, line.part);
  fields.givenNumber(kKey<lf::kVersionKey>, line.version);
  fields.endLine();
}

void LogWriter::append(std::string& out, const StreamLine& line) {
  Fields fields(out, prefix(), lf::kStream);
  addStream(fields, line);
  fields.endLine();
}

void LogWriter::append(std::string& out, const NcclLine& line) {
  Fields fields(out, prefix(), lf::kStream);
  addStream(fields, line.what);
  if (!line.isTimed) fields.number(kKey<lf::kUntimed>, 1);
  fields.givenText(kKey<lf::kCommunicator>, line.communicator);
  fields.givenNumber(kKey<lf::kCommunicatorPeer>, line.communicatorPeer);
  fields.givenNumber(kKey<lf::kSequence>, line.sequence);
  fields.givenText(kKey<lf::kAlgorithm>, line.algorithm);
  fields.givenText(kKey<lf::kProtocol>, line.protocol);
  fields.endLine();
}

void LogWriter::append(std::string& out, const KernelLine& line) {
  Fields fields(out, prefix(), lf::kKernel);
  fields.text(kKey<lf::kName>, line.name);
  fields.time(kKey<lf::kStart>, line.begin);
  fields.time(kKey<lf::kEndTime>, line.end);
  fields.givenText(kKey<lf::kStreamKey>, line.stream);
  fields.givenNumber(kKey<lf::kBytes>, line.bytes);
  fields.givenNumber(kKey<lf::kJobKey>, line.job);
  fields.endLine();
}

void LogWriter::append(std::string& out, const CounterLine& line) {
  Fields fields(out, prefix(), lf::kCounter);
  fields.text(kKey<lf::kName>, line.name);
  fields.time(kKey<lf::kTime>, line.time);
  fields.real(kKey<lf::kValue>, line.value);
  fields.givenText(kKey<lf::kUnit>, line.unit);
  fields.endLine();
}

void LogWriter::append(std::string& out, const ClockReading& reading) {
  Fields fields(out, prefix(), lf::kClock);
  fields.time(kKey<lf::kTime>, reading.when);
  fields.number(kKey<lf::kOffset>, reading.offset);
  fields.number(kKey<lf::kBound>, reading.bound);
  fields.endLine();
}

void LogWriter::appendMeta(std::string& out, const RankInfo& info, std::string_view ringFile) {
  Fields fields(out, prefix(), lf::kMeta);
  fields.number(kKey<lf::kVersionKey>, lf::kVersion);
  fields.number(kKey<lf::kRank>, info.rank);
  fields.given(kKey<lf::kWorldSize>, info.worldSize);
  fields.givenText(kKey<lf::kHost>, info.host);
  fields.givenText(kKey<lf::kDevice>, info.device);
  fields.given(kKey<lf::kNumStages>, info.numStages);
  fields.given(kKey<lf::kNumChunks>, info.numChunks);
  fields.given(kKey<lf::kNumMicroBatches>, info.numMicroBatches);
  fields.givenText(kKey<lf::kSchedule>, info.schedule);
  fields.given(kKey<lf::kDataParallelIndex>, info.dataParallelIndex);
  fields.givenText(kKey<lf::kClockKey>, info.clock);
  fields.given(kKey<lf::kFlopsPerStep>, info.flopsPerStep);
  fields.given(kKey<lf::kTokensPerStep>, info.tokensPerStep);
  fields.givenText(kKey<lf::kRing>, ringFile);
  fields.endLine();
}

void LogWriter::appendEnd(std::string& out, const RankInfo& info) {
  Fields fields(out, prefix(), lf::kEnd);
  fields.number(kKey<lf::kWritten>, info.written);
  fields.number(kKey<lf::kDropped>, info.dropped);
  fields.number(kKey<lf::kErrors>, info.errors);
  fields.number(kKey<lf::kLateStarts>, info.lateStarts);
  fields.number(kKey<lf::kOwnCost>, info.ownCost);
  if (info.logThreadCost > 0) fields.number(kKey<lf::kLogThreadCost>, info.logThreadCost);
  fields.endLine();
}

}  // namespace pipetrace
