#include "trace/files/standard_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <initializer_list>

namespace pipetrace {

void openClosedStreams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free, so this stream's. A stream that is left closed does no more
    // harm than before.
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    (void)::open("/dev/null", mode);
  }
}

int columnsOfTerminal(int fd) noexcept {
  winsize size{};
  return ::isatty(fd) != 0 && ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace pipetrace
