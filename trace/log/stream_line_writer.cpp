#include "trace/log/stream_line_writer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "trace/log/log_line_builder.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

using KindPiece = LogPieceOf<LogLineBuilder::kKeptRoom>;
using KindPieces = std::array<KindPiece, kJobKindCount>;

/// The text before a job's micro-batch, for each kind.
template <typename Make>
KindPieces makeForKinds(Make make) {
  return [&]<std::size_t... kKind>(std::index_sequence<kKind...>) {
    return KindPieces{make(logName(static_cast<JobKind>(kKind)))...};
  }
  (std::make_index_sequence<kJobKindCount>());
}

const KindPieces& computeKinds() {
  static const KindPieces pieces = makeForKinds([](std::string_view kind) {
    return KindPiece{", ", lf::kType, " = ", kind, ", ", lf::kMicroBatch, " = "};
  });
  return pieces;
}

const KindPieces& otherKinds() {
  static const KindPieces pieces = makeForKinds([](std::string_view kind) {
    return KindPiece{lf::kStream, lf::kType, " = ", kind};
  });
  return pieces;
}

constexpr LogPiece kJobMark{lf::kInfo, lf::kJob};
constexpr LogPiece kNoMark{};

}  // namespace

StreamLineWriter::StreamLineWriter(LogWriter& writer, std::string_view stream, bool isCompute)
    : writer_(writer), isCompute_(isCompute) {
  if (!stream.empty()) {
    stream_ = ", " + std::string(lf::kStreamKey) + " = ";
    appendLogValue(stream_, stream);
  }
  streamSize_ = stream_.size();
  stream_.resize(std::max(streamSize_, LogLineBuilder::kKeptRoom));
}

void StreamLineWriter::Place::make(const StreamJob& job) {
  step = job.step;
  stage = job.stage;
  chunk = job.chunk;
  char* at = text.data();
  const auto add = [&at](std::string_view key, std::int64_t value) {
    if (value == kNotGiven) return;
    for (const std::string_view part : {std::string_view(", "), key, std::string_view(" = ")}) {
      at = std::copy(part.begin(), part.end(), at);
    }
    at = std::to_chars(at, at + 24, value).ptr;
  };
  add(lf::kStep, step);
  add(lf::kStage, stage);
  add(lf::kChunk, chunk);
  size = static_cast<std::uint32_t>(at - text.data());
}

const StreamLineWriter::Place& StreamLineWriter::placeOf(const StreamJob& job) {
  Place& place = places_[static_cast<std::size_t>(job.chunk) % places_.size()];
  const bool isSame =
      place.step == job.step && place.stage == job.stage && place.chunk == job.chunk;
  if (!isSame) [[unlikely]]
    place.make(job);
  return place;
}

void StreamLineWriter::append(InPlaceText& out, const StreamJob& job) {
  isCompute_ ? appendCompute(out, job) : appendOther(out, job);
}

void StreamLineWriter::appendCompute(InPlaceText& out, const StreamJob& job) {
  LogLineBuilder fields(out, writer_.times_, writer_.prefix(), kJobMark);
  const KindPiece& kind = computeKinds()[static_cast<std::size_t>(job.kind)];
  const Place& place = placeOf(job);
  if (isShortNumber(job.microBatch)) [[likely]] {
    const ShortNumber microBatch = shortNumber(static_cast<std::uint32_t>(job.microBatch));
    fields.inBrackets(microBatch);
    fields.kept(kind.text.data(), kind.size);
    fields.keptNumber(microBatch);
  } else {
    fields.inBrackets(job.microBatch);
    fields.text(kLogKey<lf::kType>, logName(job.kind));
    fields.number(kLogKey<lf::kMicroBatch>, job.microBatch);
  }
  fields.time(kLogKey<lf::kJobStart>, job.begin);
  fields.time(kLogKey<lf::kJobEnd>, job.end);
  if (job.id != kNotGiven) fields.number(kLogKey<lf::kId>, ids_, job.id);
  fields.kept(place.text.data(), place.size);
  fields.kept(stream_.data(), streamSize_);
  fields.givenText(kLogKey<lf::kAction>, job.action);
  if (job.details != JobDetails()) [[unlikely]]
    fields.givenDetails(job.details);
  if (job.phase != Phase::kTraining) [[unlikely]]
    fields.text(kLogKey<lf::kPhase>, logName(job.phase));
  fields.endLine();
}

void StreamLineWriter::appendOther(InPlaceText& out, const StreamJob& job) {
  LogLineBuilder fields(out, writer_.times_, writer_.prefix(), kNoMark);
  const KindPiece& kind = otherKinds()[static_cast<std::size_t>(job.kind)];
  const Place& place = placeOf(job);
  fields.kept(kind.text.data(), kind.size);
  fields.givenNumber(kLogKey<lf::kMicroBatch>, job.microBatch);
  fields.time(kLogKey<lf::kStart>, job.begin);
  fields.time(kLogKey<lf::kEndTime>, job.end);
  fields.kept(stream_.data(), streamSize_);
  fields.givenNumber(kLogKey<lf::kPeer>, job.peer);
  fields.givenNumber(kLogKey<lf::kBytes>, job.bytes);
  fields.givenText(kLogKey<lf::kMembers>, job.action);
  if (job.id != kNotGiven) fields.number(kLogKey<lf::kJobKey>, ids_, job.id);
  fields.kept(place.text.data(), place.size);
  if (job.phase != Phase::kTraining) [[unlikely]]
    fields.text(kLogKey<lf::kPhase>, logName(job.phase));
  fields.endLine();
}

}  // namespace pipetrace
