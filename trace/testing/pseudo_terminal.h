#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace pipetrace {

/// A terminal of 24 rows and 60 columns, whose screen the test reads.
class PseudoTerminal {
 public:
  PseudoTerminal() : screen_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (screen_ < 0) return;
    ::grantpt(screen_);
    ::unlockpt(screen_);
    const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    terminal_ = ::open(::ptsname(screen_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  ~PseudoTerminal() {
    ::close(screen_);
    ::close(terminal_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  /// False where the system has no pseudo terminals.
  bool exists() const { return screen_ >= 0; }
  /// The program's end.
  int fd() const { return terminal_; }

  /// Everything that was written to the terminal, once it holds `text`. With an empty `text`,
  /// everything until now.
  std::string shown(const std::string& text) {
    constexpr int kPatienceMs = 60'000;
    pollfd waiting{.fd = screen_, .events = POLLIN, .revents = 0};
    while (all_.find(text) == std::string::npos || text.empty()) {
      if (::poll(&waiting, 1, text.empty() ? 0 : kPatienceMs) <= 0) break;
      char buffer[4096];
      const ssize_t n = ::read(screen_, buffer, sizeof buffer);
      if (n <= 0) break;
      all_.append(buffer, static_cast<std::size_t>(n));
    }
    return all_;
  }

 private:
  int screen_;
  int terminal_ = -1;
  std::string all_;
};

}  // namespace pipetrace
