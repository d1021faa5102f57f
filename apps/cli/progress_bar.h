#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace pipetrace {

/// "reading [#####     ]  50 %  1.2 of 2.4 GB" in at most `columns`; without the bar where `total`
/// is not known (0). `unit`: what is counted, such as "changes"; empty: bytes.
std::string progressLine(const std::string& what, std::int64_t done, std::int64_t total,
                         int columns, const std::string& unit = "");

/// Shows on a terminal how far some work is, once it has taken a while. The bar is erased when
/// this object ends. While it lives, nothing else may write to the terminal.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  struct Setting {
    int fd = STDERR_FILENO;                    ///< no bar is shown if this is no terminal
    Clock::time_point begin = Clock::now();    ///< start of the work
    std::chrono::milliseconds patience{1000};  ///< the bar appears after this time
    bool quiet = false;                        ///< no bar is shown
    std::string unit = {};                     ///< as of progressLine()
  };

  /// `done` and `total` are looked at ten times a second, and must outlive it.
  ProgressBar(std::string_view what, const std::atomic<std::int64_t>& done,
              const std::atomic<std::int64_t>& total, const Setting& setting);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void draw();

  const std::string what_;
  const std::atomic<std::int64_t>& done_;
  const std::atomic<std::int64_t>& total_;
  const Setting setting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace pipetrace
