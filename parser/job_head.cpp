#include "parser/job_head.h"

#include <re2/re2.h>

#include <charconv>

#include "trace/decimal_time.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

/// Takes a line apart from its start; each function is false where it finds something else.
class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) {}

  bool literal(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  /// At most 18 digits, so that no overflow has to be looked for.
  bool integer(std::int64_t& value) {
    const std::size_t n = digits(0);
    if (n == 0 || n > 18) return false;
    value = static_cast<std::int64_t>(valueOf(n));
    rest_.remove_prefix(n);
    return true;
  }

  bool word(std::string_view& text) {
    std::size_t n = 0;
    while (n < rest_.size() && isWord(rest_[n])) ++n;
    text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return n > 0;
  }

  /// Milliseconds with six decimals.
  bool milliseconds(Nanoseconds& time) {
    const std::size_t whole = digits(0);
    if (whole == 0 || whole > 12 + 1 || whole == rest_.size() || rest_[whole] != '.') return false;
    if (digits(whole + 1) != 6) return false;
    const std::uint64_t ms = valueOf(whole);
    rest_.remove_prefix(whole + 1);
    const std::uint64_t ns = ms * 1'000'000 + valueOf(6);  // < 10^19: fits 64 bits without sign
    rest_.remove_prefix(6);
    if (ns > static_cast<std::uint64_t>(kNsMax)) return false;
    time = static_cast<Nanoseconds>(ns);
    return true;
  }

  std::string_view rest() const { return rest_; }

 private:
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '_';
  }

  std::size_t digits(std::size_t from) const {
    std::size_t i = from;
    while (i < rest_.size() && isDigit(rest_[i])) ++i;
    return i - from;
  }

  std::uint64_t valueOf(std::size_t n) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      value = value * 10 + static_cast<std::uint64_t>(rest_[i] - '0');
    }
    return value;
  }

  std::string_view rest_;
};

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

std::optional<JobHead> readCanonicalHead(std::string_view line) {
  const std::size_t mark = line.find(lf::kInfo);
  if (mark == std::string_view::npos) return std::nullopt;
  Scanner scan(line.substr(mark + lf::kInfo.size()));
  JobHead head;
  const bool matched = scan.literal("Job (") && scan.integer(head.number) &&
                       scan.literal("), type = ") && scan.word(head.type) &&
                       scan.literal(", micro_batch_id = ") && scan.integer(head.microBatch) &&
                       scan.literal(", job_start_time = ") && scan.milliseconds(head.begin) &&
                       scan.literal(", job_end_time = ") && scan.milliseconds(head.end) &&
                       (scan.rest().empty() || scan.rest().starts_with(", "));
  if (!matched) return std::nullopt;
  head.tail = scan.rest();
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
