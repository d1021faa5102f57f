#include "apps/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "trace/files/standard_streams.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

constexpr std::chrono::milliseconds kBetweenPictures{100};
constexpr int kUsualColumns = 80;
constexpr int kWidestBar = 40;

std::string sizeText(std::int64_t bytes) {
  constexpr double kMega = 1e6;
  constexpr double kGiga = 1e9;
  const auto size = static_cast<double>(bytes);
  if (size >= kGiga) return fmt::format("{:.2f} GB", size / kGiga);
  return fmt::format("{:.1f} MB", size / kMega);
}

int columnsOf(int fd) {
  const int columns = columnsOfTerminal(fd);
  return columns > 0 ? columns : kUsualColumns;
}

/// Ignores errors: a terminal that is gone must not end the work.
void show(int fd, const std::string& text) {
  [[maybe_unused]] const ssize_t n = ::write(fd, text.data(), text.size());
}

}  // namespace

std::string progressLine(const std::string& what, std::int64_t done, std::int64_t total,
                         int columns, const std::string& unit) {
  const auto countText = [&](std::int64_t count) {
    return unit.empty() ? sizeText(count) : std::to_string(count);
  };
  const std::string last = unit.empty() ? "" : " " + unit;
  std::string text = what + "  " + countText(done) + last;
  if (total > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const std::string tail = fmt::format(" {:3.0f} %  {} of {}{}", 100 * share,
                                         countText(std::min(done, total)), countText(total), last);
    const int room = columns - 1 - static_cast<int>(what.size() + tail.size()) - 3;
    const int width = std::clamp(room, 0, kWidestBar);
    const auto filled = static_cast<std::size_t>(share * width);
    text = what;
    if (width > 0) {
      text += " [" + std::string(filled, '#') +
              std::string(static_cast<std::size_t>(width) - filled, ' ') + "]";
    }
    text += tail;
  }
  // After the last column many terminals go on to the next line.
  return text.substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
}

ProgressBar::ProgressBar(std::string_view what, const std::atomic<std::int64_t>& done,
                         const std::atomic<std::int64_t>& total, const Setting& setting)
    : what_(fitToPrint(what)), done_(done), total_(total), setting_(setting) {
  if (setting_.quiet || ::isatty(setting_.fd) == 0) return;
  thread_ = std::thread([this] { draw(); });
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProgressBar::draw() {
  // A terminal may stop a background process that writes to it.
  sigset_t held;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &held, nullptr);

  std::unique_lock lock(mutex_);
  const auto hasEnded = [this] { return ended_; };
  if (changed_.wait_until(lock, setting_.begin + setting_.patience, hasEnded)) return;
  do {
    const int columns = columnsOf(setting_.fd);
    show(setting_.fd, "\r" + progressLine(what_, done_, total_, columns, setting_.unit) + "\x1b[K");
  } while (!changed_.wait_for(lock, kBetweenPictures, hasEnded));
  show(setting_.fd, "\r\x1b[K");
}

}  // namespace pipetrace
