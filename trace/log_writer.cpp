#include "trace/log_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

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

/// Writes `key = value` pairs with ", " between them, and the end of the line. Collects them in a
/// buffer of its own, as appending to a string piece by piece costs more than the rest.
class Fields {
 public:
  explicit Fields(std::string& out, bool first = false) : out_(out), first_(first) {}

  void number(std::string_view key, std::int64_t value) {
    begin(key);
    print(value);
  }
  void givenNumber(std::string_view key, std::int64_t value) {
    if (value != kNotGiven) number(key, value);
  }
  void real(std::string_view key, double value) {
    begin(key);
    print(value);  // the shortest text that reads back to the same double
  }
  void time(std::string_view key, Nanoseconds value) {
    begin(key);
    makeRoom(kNumberRoom);
    at_ = printMilliseconds(at_, value);
  }
  void text(std::string_view key, std::string_view value) {
    begin(key);
    if (isPlain(value)) {
      put(value);
    } else {
      flush();
      appendLogValue(out_, value);
    }
  }
  void givenText(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  template <typename Number>
  void given(std::string_view key, const std::optional<Number>& value) {
    if (value) {
      begin(key);
      print(*value);
    }
  }
  /// `Job (n)`, the one that is no pair.
  void jobNumber(std::int64_t number) {
    put(lf::kJob);
    print(number);
    put(")");
    first_ = false;
  }
  void endLine() {
    put("\n");
    flush();
  }

 private:
  static constexpr std::size_t kNumberRoom = 32;

  void begin(std::string_view key) {
    if (!first_) put(", ");
    first_ = false;
    put(key);
    put(" = ");
  }
  template <typename Number>
  void print(Number value) {
    makeRoom(kNumberRoom);
    at_ = std::to_chars(at_, at_ + kNumberRoom, value).ptr;
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
  bool first_;
  std::array<char, 512> buffer_;  // no {}: zeroing it would cost as much as filling it
  char* at_ = buffer_.data();
};

void addStream(Fields& fields, const StreamLine& line) {
  fields.text(lf::kType, line.type);
  fields.givenNumber(lf::kMicroBatch, line.microBatch);
  fields.time(lf::kStart, line.begin);
  fields.time(lf::kEndTime, line.end);
  fields.givenText(lf::kStreamKey, line.stream);
  fields.givenNumber(lf::kPeer, line.peer);
  fields.givenNumber(lf::kBytes, line.bytes);
  fields.givenNumber(lf::kJobKey, line.job);
  fields.givenNumber(lf::kStep, line.step);
  fields.givenNumber(lf::kStage, line.stage);
  fields.givenNumber(lf::kChunk, line.chunk);
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

void LogWriter::appendPrefix(std::string& out) {
  if (now_ == prefixNow_) {  // lines are written many at a time
    out += prefix_;
    return;
  }
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
  prefixNow_ = now_;
  out += prefix_;
}

void LogWriter::append(std::string& out, const JobLine& line) {
  appendPrefix(out);
  out += lf::kInfo;
  Fields fields(out, true);
  fields.jobNumber(line.number);
  fields.text(lf::kType, line.type);
  fields.number(lf::kMicroBatch, line.microBatch);
  fields.time(lf::kJobStart, line.begin);
  fields.time(lf::kJobEnd, line.end);
  fields.givenNumber(lf::kId, line.id);
  fields.givenNumber(lf::kStep, line.step);
  fields.givenNumber(lf::kStage, line.stage);
  fields.givenNumber(lf::kChunk, line.chunk);
  fields.givenText(lf::kStreamKey, line.stream);
  fields.givenText(lf::kAction, line.action);
  fields.givenNumber(lf::kPart, line.part);
  fields.givenNumber(lf::kVersionKey, line.version);
  fields.endLine();
}

void LogWriter::append(std::string& out, const StreamLine& line) {
  appendPrefix(out);
  out += lf::kStream;
  Fields fields(out, true);
  addStream(fields, line);
  fields.endLine();
}

void LogWriter::append(std::string& out, const NcclLine& line) {
  appendPrefix(out);
  out += lf::kStream;
  Fields fields(out, true);
  addStream(fields, line.what);
  if (!line.isTimed) fields.number(lf::kUntimed, 1);
  fields.givenText(lf::kCommunicator, line.communicator);
  fields.givenNumber(lf::kCommunicatorPeer, line.communicatorPeer);
  fields.givenNumber(lf::kSequence, line.sequence);
  fields.givenText(lf::kAlgorithm, line.algorithm);
  fields.givenText(lf::kProtocol, line.protocol);
  fields.endLine();
}

void LogWriter::append(std::string& out, const KernelLine& line) {
  appendPrefix(out);
  out += lf::kKernel;
  Fields fields(out, true);
  fields.text(lf::kName, line.name);
  fields.time(lf::kStart, line.begin);
  fields.time(lf::kEndTime, line.end);
  fields.givenText(lf::kStreamKey, line.stream);
  fields.givenNumber(lf::kBytes, line.bytes);
  fields.givenNumber(lf::kJobKey, line.job);
  fields.endLine();
}

void LogWriter::append(std::string& out, const CounterLine& line) {
  appendPrefix(out);
  out += lf::kCounter;
  Fields fields(out, true);
  fields.text(lf::kName, line.name);
  fields.time(lf::kTime, line.time);
  fields.real(lf::kValue, line.value);
  fields.givenText(lf::kUnit, line.unit);
  fields.endLine();
}

void LogWriter::append(std::string& out, const ClockReading& reading) {
  appendPrefix(out);
  out += lf::kClock;
  Fields fields(out, true);
  fields.time(lf::kTime, reading.when);
  fields.number(lf::kOffset, reading.offset);
  fields.number(lf::kBound, reading.bound);
  fields.endLine();
}

void LogWriter::appendMeta(std::string& out, const RankInfo& info, std::string_view ringFile) {
  appendPrefix(out);
  out += lf::kMeta;
  Fields fields(out, true);
  fields.number(lf::kVersionKey, lf::kVersion);
  fields.number(lf::kRank, info.rank);
  fields.given(lf::kWorldSize, info.worldSize);
  fields.givenText(lf::kHost, info.host);
  fields.givenText(lf::kDevice, info.device);
  fields.given(lf::kNumStages, info.numStages);
  fields.given(lf::kNumChunks, info.numChunks);
  fields.given(lf::kNumMicroBatches, info.numMicroBatches);
  fields.givenText(lf::kSchedule, info.schedule);
  fields.given(lf::kDataParallelIndex, info.dataParallelIndex);
  fields.givenText(lf::kClockKey, info.clock);
  fields.given(lf::kFlopsPerStep, info.flopsPerStep);
  fields.given(lf::kTokensPerStep, info.tokensPerStep);
  fields.givenText(lf::kRing, ringFile);
  fields.endLine();
}

void LogWriter::appendEnd(std::string& out, const RankInfo& info) {
  appendPrefix(out);
  out += lf::kEnd;
  Fields fields(out, true);
  fields.number(lf::kWritten, info.written);
  fields.number(lf::kDropped, info.dropped);
  fields.number(lf::kErrors, info.errors);
  fields.number(lf::kLateStarts, info.lateStarts);
  fields.number(lf::kOwnCost, info.ownCost);
  if (info.logThreadCost > 0) fields.number(lf::kLogThreadCost, info.logThreadCost);
  fields.endLine();
}

}  // namespace pipetrace
