#include "trace/log/log_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "trace/log/log_line_builder.h"
#include "trace/log/rank_info_fields.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

constexpr std::string_view kNothing;

template <const std::string_view& kFirst, const std::string_view& kSecond = kNothing>
constexpr LogPiece kMark{{kFirst, kSecond}};

bool isPlain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), LogLineBuilder::isBare);
}

void addStream(LogLineBuilder& fields, const StreamLine& line) {
  fields.text(kLogKey<lf::kType>, line.type);
  fields.givenNumber(kLogKey<lf::kMicroBatch>, line.microBatch);
  fields.time(kLogKey<lf::kStart>, line.begin);
  fields.time(kLogKey<lf::kEndTime>, line.end);
  fields.givenText(kLogKey<lf::kStreamKey>, line.stream);
  fields.givenNumber(kLogKey<lf::kPeer>, line.peer);
  fields.givenNumber(kLogKey<lf::kBytes>, line.bytes);
  fields.givenText(kLogKey<lf::kMembers>, line.members);
  fields.givenNumber(kLogKey<lf::kJobKey>, line.job);
  fields.givenNumber(kLogKey<lf::kStep>, line.step);
  fields.givenNumber(kLogKey<lf::kStage>, line.stage);
  fields.givenNumber(kLogKey<lf::kChunk>, line.chunk);
  fields.givenText(kLogKey<lf::kPhase>, logName(line.phase));
}

void addField(LogLineBuilder& fields, const LogPiece& key, std::int64_t value) {
  fields.number(key, value);
}

void addField(LogLineBuilder& fields, const LogPiece& key, const std::string& value) {
  fields.text(key, value);
}

template <typename Number>
void addField(LogLineBuilder& fields, const LogPiece& key, const std::optional<Number>& value) {
  fields.given(key, value);
}

template <RankFieldPlace kPlace>
void addRankFields(LogLineBuilder& fields, const RankInfo& info) {
  visitRankFieldsIn<kPlace>([&]<typename Field>(Field, auto member) {
    if (!Field::kIsAlwaysWritten && !isGiven(info.*member)) return;
    addField(fields, kLogKey<Field::kKey>, info.*member);
  });
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
  prefixSize_ = std::min(prefix_.size(), LogLineBuilder::kPrefixRoom);
  prefix_.resize(LogLineBuilder::kPrefixRoom);
  prefixNow_ = now_;
  return {prefix_.data(), prefixSize_};
}

void LogWriter::append(InPlaceText& out, const JobLine& line) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kInfo, lf::kJob>);
  fields.inBrackets(line.number);
  fields.text(kLogKey<lf::kType>, line.type);
  fields.number(kLogKey<lf::kMicroBatch>, line.microBatch);
  fields.time(kLogKey<lf::kJobStart>, line.begin);
  fields.time(kLogKey<lf::kJobEnd>, line.end);
  fields.givenNumber(kLogKey<lf::kId>, line.id);
  fields.givenNumber(kLogKey<lf::kStep>, line.step);
  fields.givenNumber(kLogKey<lf::kStage>, line.stage);
  fields.givenNumber(kLogKey<lf::kChunk>, line.chunk);
  fields.givenText(kLogKey<lf::kStreamKey>, line.stream);
  fields.givenText(kLogKey<lf::kAction>, line.action);
  fields.givenDetails(line.details);
  fields.givenText(kLogKey<lf::kPhase>, logName(line.phase));
  fields.endLine();
}

void LogWriter::append(InPlaceText& out, const StreamLine& line) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kStream>);
  addStream(fields, line);
  fields.endLine();
}

void LogWriter::append(InPlaceText& out, const NcclLine& line) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kStream>);
  addStream(fields, line.what);
  if (!line.isTimed) fields.number(kLogKey<lf::kUntimed>, 1);
  fields.givenText(kLogKey<lf::kCommunicator>, line.communicator);
  fields.givenNumber(kLogKey<lf::kCommunicatorPeer>, line.communicatorPeer);
  fields.givenNumber(kLogKey<lf::kSequence>, line.sequence);
  fields.givenText(kLogKey<lf::kAlgorithm>, line.algorithm);
  fields.givenText(kLogKey<lf::kProtocol>, line.protocol);
  fields.endLine();
}

void LogWriter::append(InPlaceText& out, const KernelLine& line) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kKernel>);
  fields.text(kLogKey<lf::kName>, line.name);
  fields.time(kLogKey<lf::kStart>, line.begin);
  fields.time(kLogKey<lf::kEndTime>, line.end);
  fields.givenText(kLogKey<lf::kStreamKey>, line.stream);
  fields.givenNumber(kLogKey<lf::kBytes>, line.bytes);
  fields.givenNumber(kLogKey<lf::kJobKey>, line.job);
  fields.endLine();
}

void LogWriter::append(InPlaceText& out, const CounterLine& line) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kCounter>);
  fields.text(kLogKey<lf::kName>, line.name);
  fields.time(kLogKey<lf::kTime>, line.time);
  fields.shortest(kLogKey<lf::kValue>, line.value);
  fields.givenText(kLogKey<lf::kUnit>, line.unit);
  fields.endLine();
}

void LogWriter::append(InPlaceText& out, const ClockReading& reading) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kClock>);
  fields.time(kLogKey<lf::kTime>, reading.when);
  fields.number(kLogKey<lf::kOffset>, reading.offset);
  fields.number(kLogKey<lf::kBound>, reading.bound);
  fields.endLine();
}

void LogWriter::appendMeta(InPlaceText& out, const RankInfo& info, std::string_view ringFile) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kMeta>);
  fields.number(kLogKey<lf::kVersionKey>, lf::kVersion);
  addRankFields<RankFieldPlace::kRank>(fields, info);
  addRankFields<RankFieldPlace::kMeta>(fields, info);
  fields.givenText(kLogKey<lf::kRing>, ringFile);
  fields.endLine();
}

void LogWriter::appendEnd(InPlaceText& out, const RankInfo& info) {
  LogLineBuilder fields(out, times_, prefix(), kMark<lf::kEnd>);
  addRankFields<RankFieldPlace::kEnd>(fields, info);
  fields.endLine();
}

}  // namespace pipetrace
