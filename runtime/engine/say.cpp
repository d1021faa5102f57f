#include "runtime/engine/say.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string>

#include "trace/files/standard_streams.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

// To the first column, and erase to the end of the line.
constexpr const char* kClear = "\r\x1b[K";

struct Progress {
  std::mutex mutex;
  std::string line;  // empty: none is shown
};

// Never destroyed, as threads may say something while the program ends.
Progress& progress() {
  static Progress& shown = *new Progress;
  return shown;
}

void write(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void say(std::FILE* stream, std::string_view line) noexcept {
  Progress& shown = progress();
  const std::lock_guard lock(shown.mutex);
  if (!shown.line.empty()) write(stdout, kClear);
  // One call, so that lines of several processes do not mix.
  std::fprintf(stream, "%s\n", fitToPrint(line).c_str());
  std::fflush(stream);
  if (!shown.line.empty()) write(stdout, shown.line);
}

}  // namespace

void sayOnStderr(std::string_view line) noexcept { say(stderr, line); }
void sayOnStdout(std::string_view line) noexcept { say(stdout, line); }

bool isStdoutATerminal() noexcept { return isatty(STDOUT_FILENO) != 0; }

void showProgress(std::string_view line) noexcept {
  // The last column stays free: terminals differ in what they do after it.
  constexpr int kUsual = 80;
  const int columns = columnsOfTerminal(STDOUT_FILENO);
  const auto most = static_cast<std::size_t>(columns > 1 ? columns - 1 : kUsual - 1);
  Progress& shown = progress();
  const std::lock_guard lock(shown.mutex);
  shown.line = line.substr(0, most);
  write(stdout, kClear + shown.line);
}

ProgressHidden::ProgressHidden() noexcept {
  Progress& shown = progress();
  const std::lock_guard lock(shown.mutex);
  if (!shown.line.empty()) write(stdout, kClear);
}

ProgressHidden::~ProgressHidden() {
  Progress& shown = progress();
  const std::lock_guard lock(shown.mutex);
  if (!shown.line.empty()) write(stdout, shown.line);
}

void endProgress() noexcept {
  Progress& shown = progress();
  const std::lock_guard lock(shown.mutex);
  if (shown.line.empty()) return;
  write(stdout, "\n");
  shown.line.clear();
}

}  // namespace pipetrace
