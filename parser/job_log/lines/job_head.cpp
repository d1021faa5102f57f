#include "parser/job_log/lines/job_head.h"

#include <re2/re2.h>

#include <charconv>

#include "trace/log/log_format.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

// PaddlePaddle's own pattern matches a type with Python's \w, which is letters and digits of any
// script. The end time must not run on into other characters: such a number was cut or overwritten.
constexpr char kHeadPattern[] =
    R"re((?s)Profiler Info: Job \(\s*(-?[0-9]+)\s*\)\s*,\s*)re"
    R"re(type\s*=\s*("(?:[^"\\]|\\.)*"|[\p{L}\p{N}_.+:/-]+(?:\(chunk[0-9]+\))?)\s*,\s*)re"
    R"re(micro_batch_id\s*=\s*(-?[0-9]+)\s*,\s*)re"
    R"re(job_start_time\s*=\s*(-?[0-9]+(?:\.[0-9]+)?)\s*,\s*)re"
    R"re(job_end_time\s*=\s*(-?[0-9]+(?:\.[0-9]+)?)(?:$|([^\w.].*)))re";

bool readInteger(std::string_view text, std::int64_t& value) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc{} && result.ptr == end;
}

}  // namespace

bool takeCanonicalHead(LogScanner& scan, JobHead& head) {
  return scan.literal("Profiler Info: Job (") && scan.number(head.number) &&
         scan.literal("), type = ") && scan.word(head.type) &&
         scan.literal(", micro_batch_id = ") && scan.number(head.microBatch) &&
         scan.literal(", job_start_time = ") && scan.milliseconds(head.begin) &&
         scan.literal(", job_end_time = ") && scan.milliseconds(head.end);
}

std::optional<JobHead> readCanonicalHead(std::string_view line) {
  const std::size_t mark = line.find(lf::kInfo);
  if (mark == std::string_view::npos) return std::nullopt;
  LogScanner scan(line.substr(mark));
  JobHead head;
  if (!takeCanonicalHead(scan, head)) return std::nullopt;
  head.tail = scan.rest();
  if (!head.tail.empty() && !head.tail.starts_with(", ")) return std::nullopt;
  return head;
}

HeadResult readHeadByPattern(std::string_view line, JobHead& head) {
  static const RE2 pattern(kHeadPattern);
  re2::StringPiece number, type, microBatch, begin, end, tail;
  if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern, &number, &type,
                         &microBatch, &begin, &end, &tail)) {
    return HeadResult::kNoMatch;
  }
  const auto view = [](const re2::StringPiece& s) { return std::string_view(s.data(), s.size()); };
  const auto beginTime = parseDecimalTime(view(begin), kNsPerMs);
  const auto endTime = parseDecimalTime(view(end), kNsPerMs);
  if (!readInteger(view(number), head.number) || !readInteger(view(microBatch), head.microBatch) ||
      !beginTime || !endTime) {
    return HeadResult::kNumberOutOfRange;
  }
  head.type = view(type);
  head.begin = *beginTime;
  head.end = *endTime;
  head.tail = view(tail);
  return HeadResult::kRead;
}

HeadResult readHead(std::string_view line, JobHead& head) {
  if (const auto canonical = readCanonicalHead(line)) {
    head = *canonical;
    return HeadResult::kRead;
  }
  return readHeadByPattern(line, head);
}

}  // namespace pipetrace
