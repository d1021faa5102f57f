#include "runtime/engine/engine_main.h"

#include <csignal>
#include <exception>
#include <string>

#include "runtime/engine/say.h"
#include "runtime/errors/error_text.h"
#include "runtime/starting_ranks/reuse_memory.h"
#include "trace/files/standard_streams.h"

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

}  // namespace pipetrace
