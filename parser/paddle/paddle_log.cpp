#include "parser/paddle/paddle_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "trace/job_kind.h"
#include "trace/log/log_format.h"
#include "trace/phase.h"
#include "trace/text/log_numbers.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

// Python's \d and \w are Unicode's. A leading `.*?` changes nothing about what is found.
constexpr const char* kJob =
    R"(Profiler Info: Job \((\p{Nd}+)\), type = ([\p{L}\p{N}_]+), micro_batch_id = (\p{Nd}+), )"
    R"(job_start_time = (\p{Nd}+.\p{Nd}+), job_end_time = (\p{Nd}+.\p{Nd}+))";
constexpr const char* kStart = R"(Schedule Profiler start at step (\p{Nd}+) and end at step)";
constexpr std::string_view kJobBegin = "Profiler Info: Job (";

/// Makes every kind of line end "\n", as Python does when it opens a text file.
void unifyLineEnds(std::string& text) {
  if (text.find('\r') == std::string::npos) return;
  std::size_t to = 0;
  for (std::size_t from = 0; from < text.size(); ++from) {
    const bool isPair = text[from] == '\r' && from + 1 < text.size() && text[from + 1] == '\n';
    if (!isPair) text[to++] = text[from] == '\r' ? '\n' : text[from];
  }
  text.resize(to);
}

/// Python's float(text), for the digits and one character that the pattern lets through.
std::optional<double> toDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return value;
  // Too large or too small for a double: strtod gives what Python does, infinity or zero.
  return error == std::errc::result_out_of_range
             ? std::optional(std::strtod(std::string(text).c_str(), nullptr))
             : std::nullopt;
}

/// Whether the rest of a job's line names the phase evaluate or predict.
bool isOfOtherPhase(std::string_view rest) {
  constexpr std::string_view kSeparator = ", ";
  const std::string key = std::string(kSeparator) + std::string(log_format::kPhase) + " = ";
  rest = rest.substr(0, rest.find('\n'));
  const std::size_t at = rest.find(key);
  if (at == std::string_view::npos) return false;
  const std::string_view value = rest.substr(at + key.size());
  return phaseFromLogName(value.substr(0, value.find(kSeparator))).has_value();
}

}  // namespace

PaddleLog readPaddleLog(std::string text, const std::string& name, Diagnostics& diagnostics) {
  static const re2::RE2 job(kJob);
  static const re2::RE2 start(kStart);
  if (!isUtf8(text)) {
    diagnostics.add({.file = name,
                     .message = "bytes that are no UTF-8 were replaced",
                     .advice = "PaddlePaddle's script stops at them"});
    text = toUtf8(text);
  }
  unifyLineEnds(text);
  PaddleLog log;
  re2::StringPiece startStep;
  if (re2::RE2::PartialMatch(text, start, &startStep)) {
    const std::string_view digits(startStep.data(), startStep.size());
    const auto step = parseNumber<std::int64_t>(digits);
    if (!step) diagnostics.add({.file = name, .message = "its first step is no usable number"});
    log.startStep = step.value_or(0);
  }
  std::int64_t badTimes = 0;
  std::int64_t otherPhases = 0;
  // Jobs are searched for by hand and then matched, as most lines of most logs are no jobs.
  for (std::size_t at = text.find(kJobBegin); at != std::string::npos;
       at = text.find(kJobBegin, at)) {
    re2::StringPiece rest(text.data() + at, text.size() - at);
    re2::StringPiece id, type, microBatch, begin, end;
    if (!re2::RE2::Consume(&rest, job, &id, &type, &microBatch, &begin, &end)) {
      ++at;
      continue;
    }
    at = static_cast<std::size_t>(rest.data() - text.data());
    if (isOfOtherPhase({rest.data(), rest.size()})) {
      ++otherPhases;
      continue;
    }
    if (!rowOf(jobKindFromLogName({type.data(), type.size()})).isInPaddleProfiles) continue;
    const auto beginMs = toDouble({begin.data(), begin.size()});
    const auto endMs = toDouble({end.data(), end.size()});
    if (!beginMs || !endMs) {
      // Only the line of the first one is shown, and counting it takes a look at all text before
      // it.
      const auto before = text.begin() + static_cast<std::ptrdiff_t>(at);
      const std::int64_t line = badTimes++ == 0 ? 1 + std::count(text.begin(), before, '\n') : 0;
      diagnostics.add({.file = name,
                       .line = line,
                       .message = "a job whose times are no numbers was left out",
                       .advice = "PaddlePaddle's script stops at it"});
      continue;
    }
    log.jobs.push_back({std::string(id.data(), id.size()), std::string(type.data(), type.size()),
                        std::string(microBatch.data(), microBatch.size()), *beginMs * 1000,
                        *endMs * 1000});
  }
  if (otherPhases > 0) {
    diagnostics.add({.severity = Severity::kNote,
                     .file = name,
                     .message = std::to_string(otherPhases) +
                                " jobs of the phases evaluate and predict were left out",
                     .ofSeveral = "jobs of the phases evaluate and predict were left out"});
  }
  return log;
}

}  // namespace pipetrace
