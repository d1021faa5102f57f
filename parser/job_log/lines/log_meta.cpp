#include "parser/job_log/lines/log_meta.h"

#include <optional>
#include <string>

#include "parser/job_log/lines/log_fields.h"
#include "parser/job_log/lines/log_line_kind.h"
#include "parser/trace_reader.h"
#include "trace/log/log_format.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

/// Offers each pair of a line to fields by name, and counts what is wrong with it.
class Fields {
 public:
  Fields(LogRun& run, std::string_view payload, std::int64_t number)
      : run_(run), fields_(payload), number_(number) {}

  bool next() {
    taken_ = false;
    if (fields_.next(field_)) return true;
    if (fields_.malformed()) run_.findings.add(LogFinding::kMalformedField, number_);
    return false;
  }

  void text(std::string_view key, std::string& out) {
    if (is(key)) out = field_.value;
  }

  template <typename Number>
  void number(std::string_view key, Number& out) {
    if (!is(key)) return;
    if (const auto value = parseNumber<Number>(field_.value)) {
      out = *value;
      taken_ = true;
    } else {
      run_.findings.add(LogFinding::kBadValue, number_);
    }
  }

  template <typename Number>
  void number(std::string_view key, std::optional<Number>& out) {
    if (!is(key)) return;
    Number value{};
    number(key, value);
    if (taken_) out = value;
  }

  void time(std::string_view key, std::optional<Nanoseconds>& out) {
    if (!is(key)) return;
    out = parseDecimalTime(field_.value, kNsPerMs);
    if (!out) run_.findings.add(LogFinding::kBadValue, number_);
  }

 private:
  bool is(std::string_view key) const { return field_.key == key; }

  LogRun& run_;
  LogFields fields_;
  LogFields::Field field_;
  std::int64_t number_;
  bool taken_ = false;
};

}  // namespace

void readMetaLine(LogRun& run, std::string_view payload, std::int64_t number) {
  RankInfo& info = run.info;
  std::optional<int> rank;
  int version = 0;
  Fields fields(run, payload, number);
  while (fields.next()) {
    fields.number(lf::kVersionKey, version);
    fields.number(lf::kRank, rank);
    fields.number(lf::kWorldSize, info.worldSize);
    fields.text(lf::kHost, info.host);
    fields.text(lf::kDevice, info.device);
    fields.number(lf::kNumStages, info.numStages);
    fields.number(lf::kNumChunks, info.numChunks);
    fields.number(lf::kNumMicroBatches, info.numMicroBatches);
    fields.text(lf::kSchedule, info.schedule);
    fields.number(lf::kDataParallelIndex, info.dataParallelIndex);
    fields.text(lf::kClockKey, info.clock);
    fields.number(lf::kFlopsPerStep, info.flopsPerStep);
    fields.number(lf::kTokensPerStep, info.tokensPerStep);
    fields.text(lf::kRing, run.ringFile);
  }
  run.hasMeta = true;
  if (rank && *rank >= 0 && *rank <= kHighestRank) {
    run.metaRank = rank;
  } else if (rank) {
    run.findings.add(LogFinding::kBadValue, number);
  }
  if (version > lf::kVersion) run.findings.add(LogFinding::kNewerVersion, number);
}

void readClockLine(LogRun& run, std::string_view payload, std::int64_t number) {
  std::optional<Nanoseconds> when;
  std::optional<Nanoseconds> offset;
  std::optional<Nanoseconds> bound;
  Fields fields(run, payload, number);
  while (fields.next()) {
    fields.time(lf::kTime, when);
    fields.number(lf::kOffset, offset);
    fields.number(lf::kBound, bound);
  }
  if (when && offset && bound) {
    run.info.clockReadings.push_back({*when, *offset, *bound});
  } else {
    run.findings.add(LogFinding::kNotUnderstood, number);
  }
}

void readFirstStepLine(LogRun& run, std::string_view payload, std::int64_t number) {
  constexpr int kHighestStep = 1'000'000'000;  // leaves room for those after it
  const std::size_t end = payload.find(kLastStepMark);
  if (end == std::string_view::npos || run.info.firstStep) return;
  const auto step = parseNumber<int>(payload.substr(0, end));
  if (step && *step >= 0 && *step <= kHighestStep) {
    run.info.firstStep = step;
  } else {
    run.findings.add(LogFinding::kBadValue, number);
  }
}

void readEndLine(LogRun& run, std::string_view payload, std::int64_t number) {
  RankInfo& info = run.info;
  Fields fields(run, payload, number);
  while (fields.next()) {
    fields.number(lf::kWritten, info.written);
    fields.number(lf::kDropped, info.dropped);
    fields.number(lf::kErrors, info.errors);
    fields.number(lf::kMisuses, info.misuses);
    fields.number(lf::kFailedWrites, info.failedWrites);
    fields.number(lf::kLateStarts, info.lateStarts);
    fields.number(lf::kOwnCost, info.ownCost);
    fields.number(lf::kLogThreadCost, info.logThreadCost);
  }
  info.hasEnd = true;
  if (info.dropped > 0) run.findings.add(LogFinding::kDropped, number, info.dropped);
  const auto tell = [&](LogFinding finding, std::int64_t count) {
    if (count > 0) run.findings.add(finding, number, count);
  };
  tell(LogFinding::kMisuses, info.misuses);
  tell(LogFinding::kFailedWrites, info.failedWrites);
  if (info.misuses <= 0 && info.failedWrites <= 0) tell(LogFinding::kRecordingErrors, info.errors);
}

}  // namespace pipetrace
