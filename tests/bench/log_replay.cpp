#include "tests/bench/log_replay.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

namespace pipetrace::bench {
namespace {

/// One log that is written again.
class Copy {
 public:
  Copy(const std::string& from, const std::filesystem::path& folder)
      : in_(from, std::ios::binary),
        out_(folder / std::filesystem::path(from).filename(), std::ios::binary) {}

  /// Appends lines until there are `lines` in all. Returns false at the end.
  bool growTo(std::int64_t lines) {
    text_.clear();
    for (; written_ < lines && std::getline(in_, line_); ++written_) (text_ += line_) += '\n';
    out_ << text_ << std::flush;
    return static_cast<bool>(in_) && static_cast<bool>(out_);
  }

 private:
  std::ifstream in_;
  std::ofstream out_;
  std::string line_;
  std::string text_;
  std::int64_t written_ = 0;
};

void replay(std::vector<Copy>& copies, int linesPerSecond) {
  constexpr std::chrono::milliseconds kPiece{10};
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t piece = 1;; ++piece) {
    const std::int64_t lines =
        piece * kPiece.count() * linesPerSecond / 1000 / static_cast<std::int64_t>(copies.size());
    for (Copy& copy : copies) {
      if (!copy.growTo(lines)) return;
    }
    std::this_thread::sleep_until(begin + piece * kPiece);
  }
}

}  // namespace

LogReplay::LogReplay(const std::vector<std::string>& logs, const std::string& folder,
                     int linesPerSecond) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::vector<Copy> copies;
  for (const std::string& log : logs) copies.emplace_back(log, folder);
  child_ = ::fork();
  if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child_ > 0) return;
  replay(copies, linesPerSecond);
  std::_Exit(0);
}

LogReplay::~LogReplay() {
  ::kill(child_, SIGTERM);
  ::waitpid(child_, nullptr, 0);
}

}  // namespace pipetrace::bench
