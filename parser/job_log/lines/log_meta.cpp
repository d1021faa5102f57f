#include "parser/job_log/lines/log_meta.h"

#include <optional>
#include <string>

#include "parser/job_log/lines/log_line.h"
#include "parser/trace_reader.h"
#include "trace/log/log_format.h"
#include "trace/log/rank_info_fields.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

/// Offers each pair of a line to fields by name, and counts its faults.
class Fields {
 public:
  Fields(RankPart& part, std::string_view payload, std::int64_t number)
      : part_(part), fields_(payload), number_(number) {}

  bool next() {
    if (fields_.next(field_)) return true;
    if (fields_.malformed()) part_.findings.add(LogFinding::kMalformedField, number_);
    return false;
  }

  void take(std::string_view key, std::string& out) {
    if (is(key)) out = field_.value;
  }

  template <typename Number>
  void take(std::string_view key, Number& out) {
    std::optional<Number> value;
    take(key, value);
    if (value) out = *value;
  }

  template <typename Number>
  void take(std::string_view key, std::optional<Number>& out) {
    if (!is(key)) return;
    if (const auto value = parseNumber<Number>(field_.value)) {
      out = value;
    } else {
      part_.findings.add(LogFinding::kBadValue, number_);
    }
  }

  template <RankFieldPlace kPlace>
  void takeFieldsOf(RankInfo& info) {
    visitRankFieldsIn<kPlace>(
        [&]<typename Field>(Field, auto member) { take(Field::kKey, info.*member); });
  }

  void time(std::string_view key, std::optional<Nanoseconds>& out) {
    if (!is(key)) return;
    out = parseDecimalTime(field_.value, kNsPerMs);
    if (!out) part_.findings.add(LogFinding::kBadValue, number_);
  }

 private:
  bool is(std::string_view key) const { return field_.key == key; }

  RankPart& part_;
  LogFields fields_;
  LogFields::Field field_;
  std::int64_t number_;
};

}  // namespace

void readMetaLine(RankPart& part, std::string_view payload, std::int64_t number) {
  std::optional<int> rank;
  int version = 0;
  Fields fields(part, payload, number);
  while (fields.next()) {
    fields.take(lf::kVersionKey, version);
    fields.take(lf::kRank, rank);
    fields.takeFieldsOf<RankFieldPlace::kMeta>(part.info);
    fields.take(lf::kRing, part.ringFile);
  }
  part.hasMeta = true;
  if (rank && *rank >= 0 && *rank <= kHighestRank) {
    part.metaRank = rank;
  } else if (rank) {
    part.findings.add(LogFinding::kBadValue, number);
  }
  if (version > lf::kVersion) part.findings.add(LogFinding::kNewerVersion, number);
}

void readClockLine(RankPart& part, std::string_view payload, std::int64_t number) {
  std::optional<Nanoseconds> when;
  std::optional<Nanoseconds> offset;
  std::optional<Nanoseconds> bound;
  Fields fields(part, payload, number);
  while (fields.next()) {
    fields.time(lf::kTime, when);
    fields.take(lf::kOffset, offset);
    fields.take(lf::kBound, bound);
  }
  if (when && offset && bound) {
    part.info.clockReadings.push_back({*when, *offset, *bound});
  } else {
    part.findings.add(LogFinding::kNotUnderstood, number);
  }
}

void readFirstStepLine(RankPart& part, std::string_view payload, std::int64_t number) {
  constexpr int kHighestStep = 1'000'000'000;  // leaves room for those after it
  const std::size_t end = payload.find(kLastStepMark);
  if (end == std::string_view::npos || part.info.firstStep) return;
  const auto step = parseNumber<int>(payload.substr(0, end));
  if (step && *step >= 0 && *step <= kHighestStep) {
    part.info.firstStep = step;
  } else {
    part.findings.add(LogFinding::kBadValue, number);
  }
}

void readEndLine(RankPart& part, std::string_view payload, std::int64_t number) {
  RankInfo& info = part.info;
  Fields fields(part, payload, number);
  while (fields.next()) fields.takeFieldsOf<RankFieldPlace::kEnd>(info);
  info.hasEnd = true;
  if (info.dropped > 0) part.findings.add(LogFinding::kDropped, number, info.dropped);
  const auto addFinding = [&](LogFinding finding, std::int64_t count) {
    if (count > 0) part.findings.add(finding, number, count);
  };
  addFinding(LogFinding::kMisuses, info.misuses);
  addFinding(LogFinding::kFailedWrites, info.failedWrites);
  if (info.misuses <= 0 && info.failedWrites <= 0) {
    addFinding(LogFinding::kRecordingErrors, info.errors);
  }
}

}  // namespace pipetrace
