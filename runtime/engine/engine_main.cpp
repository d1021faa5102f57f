#include "runtime/engine/engine_main.h"

#include <climits>
#include <csignal>
#include <exception>
#include <string>

#include "runtime/engine/say.h"
#include "runtime/errors/error_text.h"
#include "trace/files/standard_streams.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace pipetrace {

int engineMain(const std::function<void(StopSignal& stop)>& body) {
  openClosedStreams();
  std::signal(SIGPIPE, SIG_IGN);
  reuseFreedMemory();
  StopSignal stop;
  try {
    body(stop);
    return 0;
  } catch (const StoppedBySignal& e) {
    sayOnStderr(std::string("error: ") + e.what());
    return 128 + e.signal();
  } catch (const std::exception& e) {
    sayOnStderr("error: " + errorText(e));
  }
  return stop.received() != 0 ? 128 + stop.received() : 2;
}

void reuseFreedMemory() {
#if defined(__GLIBC__)
  constexpr int kLarge = 1 << 30;
  constexpr int kMostOfOldGlibc = 32 << 20;
  constexpr int kStep = 64 << 20;  // how much more is taken from the system at once
  if (mallopt(M_MMAP_THRESHOLD, kLarge) == 0) mallopt(M_MMAP_THRESHOLD, kMostOfOldGlibc);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, kStep);
#endif
}

}  // namespace pipetrace
