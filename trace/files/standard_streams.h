#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <initializer_list>

namespace pipetrace {

/// Puts /dev/null in the place of standard input, output and error where a program was started with
/// them closed (`program >&-`). Else the next file that it opens gets the number, and what it
/// prints goes into that file. Reading and writing there fail, as they do on closed streams.
///
/// Call it first thing in main(), before another thread or file is opened.
inline void openClosedStreams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free, so this stream's. A stream that is left closed does no more
    // harm than before.
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    (void)::open("/dev/null", mode);
  }
}

/// The columns of the terminal that `fd` is; 0: it is none, or does not say. Any thread.
inline int columnsOfTerminal(int fd) noexcept {
  winsize size{};
  return ::isatty(fd) != 0 && ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace pipetrace
