#pragma once

namespace pipetrace {

/// Puts /dev/null in the place of standard input, output and error where a program was started with
/// them closed (`program >&-`). Else the next file that it opens gets the number, and what it
/// prints goes into that file. Reading and writing there fail, as they do on closed streams.
///
/// Call it first thing in main(), before another thread or file is opened.
void openClosedStreams() noexcept;

/// The columns of the terminal that `fd` is; 0: it is none, or does not say. Any thread.
int columnsOfTerminal(int fd) noexcept;

}  // namespace pipetrace
