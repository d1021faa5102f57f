#include "runtime/starting_ranks/rank_output.h"

#include <algorithm>
#include <cstring>

namespace pipetrace {
namespace {

constexpr std::size_t kLastLines = 10;
constexpr std::size_t kLastLineLength = 1000;

}  // namespace

void ShownLines::show(std::string_view lines, std::string& display) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    lines.remove_prefix(line.size());
    display += prefix_;
    display += line;
    last_.emplace_back(line.substr(0, std::min(line.size() - 1, kLastLineLength)));
    if (line.size() - 1 > kLastLineLength) last_.back() += " ...";
    if (last_.size() > kLastLines) last_.pop_front();
  }
}

std::string ShownLines::lastLines() const {
  std::string text;
  for (const std::string& line : last_) text += "  " + line + '\n';
  return text;
}

RankOutput::RankOutput(int rank, const std::string& logPath)
    : shown_("rank " + std::to_string(rank)), log_(logPath) {}

void RankOutput::takeLines(std::string_view lines, std::string& display) {
  log_.append(lines);
  shown_.show(lines, display);
}

void RankOutput::add(std::string_view bytes, std::string& display) {
  const std::size_t ended = bytes.rfind('\n') + 1;  // npos + 1 is 0: no line has ended
  partial_ += bytes;
  if (ended > 0) {
    const std::size_t whole = partial_.size() - (bytes.size() - ended);
    takeLines(std::string_view(partial_).substr(0, whole), display);
    partial_.erase(0, whole);
  }
  while (partial_.size() >= kLongestLine) {
    takeLines(partial_.substr(0, kLongestLine) + '\n', display);
    partial_.erase(0, kLongestLine);
  }
}

void RankOutput::finish(std::string& display) {
  if (partial_.empty()) return;
  partial_ += '\n';
  takeLines(partial_, display);
  partial_.clear();
}

std::string whatIsMissing(const LogFile& log) {
  if (log.failures() == 0) return {};
  return "not all output could be stored in " + log.path() + ": " + std::strerror(log.firstError());
}

}  // namespace pipetrace
