#include "runtime/starting_ranks/hosts/remote_log.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

constexpr std::size_t kShownPiece = 64 * 1024;

bool isOfJobLog(std::string_view line) {
  const std::size_t at = line.find(log_format::kMark);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = line.substr(at);
  constexpr std::array kMarks = {log_format::kInfo,  log_format::kStream, log_format::kMeta,
                                 log_format::kClock, log_format::kKernel, log_format::kCounter,
                                 log_format::kEnd};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return rest.starts_with(mark); });
}

/// The lines that the job log does not have; each ends with a newline.
std::string printedIn(std::string_view text) {
  std::string printed;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    if (isOfJobLog(line)) continue;
    printed += line;
    if (line.back() != '\n') printed += '\n';
  }
  return printed;
}

}  // namespace

RemoteLog::RemoteLog(int rank, const std::string& path)
    : rank_(rank), file_(path), tail_(path), shown_("rank " + std::to_string(rank)) {
  tail_.skip();  // a restart's log goes on behind what was shown
  file_.claim();
}

void RemoteLog::end() {
  hasEnded_ = true;
  isShown_ = false;
  file_.release();
}

void RemoteLog::show(RanksDisplay& display) {
  while (!display.isFull()) {
    const std::string text = tail_.next(kShownPiece, hasEnded_);
    isShown_ = text.empty();
    if (isShown_) return;
    const std::size_t before = display.pending().size();
    shown_.show(printedIn(text), display.pending());
    display.count(rank_, before);
    display.settle();
  }
}

}  // namespace pipetrace
