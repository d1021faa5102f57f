#pragma once

#include <string_view>

namespace pipetrace {

/// Writes a line to stderr. A stderr that is closed or full changes nothing: what the program does
/// is more than what it says. Any thread.
void sayOnStderr(std::string_view line) noexcept;
/// The same, to stdout, at once.
void sayOnStdout(std::string_view line) noexcept;

/// Any thread.
bool isStdoutATerminal() noexcept;
/// Shows a line at the bottom of that terminal, cut to its columns, in place of the one shown
/// before. A line that is said goes above it. Any thread.
void showProgress(std::string_view line) noexcept;
/// Leaves the line that is shown where it is. Any thread.
void endProgress() noexcept;

/// While it lives, that line is not shown: for code that prints by other ways.
class ProgressHidden {
 public:
  ProgressHidden() noexcept;
  ~ProgressHidden();
  ProgressHidden(const ProgressHidden&) = delete;
  ProgressHidden& operator=(const ProgressHidden&) = delete;
};

}  // namespace pipetrace
