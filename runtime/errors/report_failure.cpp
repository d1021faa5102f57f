#include "runtime/errors/report_failure.h"

#include <exception>

#include "runtime/errors/error_text.h"
#include "runtime/lanes/peer_lost.h"

namespace pipetrace {

void reportFailure(ControlChannel& control) {
  try {
    throw;
  } catch (const RunFailed&) {
    throw;
  } catch (const PeerLost& e) {
    throw RunFailed(control.lostPeer(e.what()));
  } catch (...) {
    throw RunFailed(control.fail(errorText(std::current_exception())));
  }
}

}  // namespace pipetrace
