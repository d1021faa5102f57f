#include "parser/job_log/log_block_parser.h"

#include <algorithm>

#include "parser/job_log/find_mark.h"
#include "trace/log/log_format.h"
#include "trace/text/utf8.h"

namespace pipetrace {

void LogSection::clear() {
  about.clear();
  events.clearEvents();
  ofLines = {};
  jobLines = 0;
}

void LogBlockParser::beginSection() {
  if (parsed_.used == parsed_.sections.size()) parsed_.sections.emplace_back();
  parsed_.sections[parsed_.used++].clear();
  canonical_.setPart(section().events);
}

ParsedLogBlock& LogBlockParser::parse(const LineBlocks::Block& block) {
  parsed_.used = 0;
  beginSection();
  std::int64_t lineEnds = 0;
  std::string_view rest = block.text;
  while (true) {
    const FoundMark mark = findMark(rest);
    lineEnds += mark.lineEnds;
    rest.remove_prefix(static_cast<std::size_t>(mark.at - rest.data()));
    if (rest.empty()) break;
    std::size_t length = reading_ == LogReading::kFast ? canonical_.read(rest) : 0;
    if (length > 0) {
      section().jobLines += rest.starts_with(log_format::kInfo) ? 1 : 0;
    } else {
      const std::size_t end = rest.find('\n');
      const bool terminated = end != std::string_view::npos;
      addLine(rest.substr(0, end), lineEnds + 1, terminated);
      length = terminated ? end + 1 : rest.size();
      if (!terminated) --lineEnds;
    }
    ++lineEnds;
    rest.remove_prefix(length);
  }
  parsed_.lines = lineEnds;
  if (!block.text.empty() && block.text.back() != '\n') ++parsed_.lines;
  if (block.tooLong) section().ofLines.add(LogFinding::kLineTooLong, ++parsed_.lines);
  return parsed_;
}

/// `text`: a line from its first mark on, without its end.
void LogBlockParser::addLine(std::string_view text, std::int64_t number, bool terminated) {
  LogLine ours = classifyLogLine(text);
  if (ours.kind == LogLineKind::kOrdinary) return;
  if (ours.kind == LogLineKind::kInfo) ++section().jobLines;
  // Even a line that looks whole may lack the last digits of a number.
  if (!terminated) {
    section().ofLines.add(LogFinding::kLastLineCutOff, number);
    return;
  }
  if (ours.text.find('\0') != std::string_view::npos) {
    section().ofLines.add(LogFinding::kNulBytes, number);
    return;
  }
  if (ours.text.ends_with('\r')) ours.text.remove_suffix(1);
  if (!isUtf8(ours.text)) {
    section().ofLines.add(LogFinding::kInvalidUtf8, number);
    repaired_ = toUtf8(ours.text);
    ours.text = repaired_;
  }
  addOurs(classifyLogLine(ours.text), number);
}

void LogBlockParser::addOurs(const LogLine& line, std::int64_t number) {
  if (line.kind == LogLineKind::kMeta) beginSection();
  RankPart& events = section().events;
  switch (line.kind) {
    case LogLineKind::kInfo: events_.addJob(events, line.text, number); break;
    case LogLineKind::kStream: events_.addStream(events, line.payload, number); break;
    case LogLineKind::kKernel: events_.addKernel(events, line.payload, number); break;
    case LogLineKind::kCounter: events_.addCounter(events, line.payload, number); break;
    case LogLineKind::kMeta:
    case LogLineKind::kClock:
    case LogLineKind::kEnd:
    case LogLineKind::kFirstStep:
      section().about.push_back({line.kind, std::string(line.payload), number});
      break;
    case LogLineKind::kOrdinary: break;
  }
}

}  // namespace pipetrace
