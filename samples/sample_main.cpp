#include "samples/sample_main.h"

#include <c10/util/Exception.h>

#include <csignal>
#include <exception>
#include <string>

#include "runtime/reuse_memory.h"
#include "samples/say.h"

namespace pipetrace {

int sampleMain(const std::function<void(StopSignal& stop)>& body) {
  std::signal(SIGPIPE, SIG_IGN);
  reuseFreedMemory();
  StopSignal stop;
  try {
    body(stop);
    return 0;
  } catch (const c10::Error& e) {  // what() would add a backtrace
    sayOnStderr(std::string("error: ") + e.what_without_backtrace());
  } catch (const std::exception& e) {
    sayOnStderr(std::string("error: ") + e.what());
  }
  return stop.received() != 0 ? 128 + stop.received() : 2;
}

}  // namespace pipetrace
