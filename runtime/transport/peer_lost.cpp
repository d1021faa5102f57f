#include "runtime/transport/peer_lost.h"

#include <c10/util/Exception.h>

#include <new>

#include "runtime/errors/error_text.h"
#include "runtime/lanes/peer_lost.h"

namespace pipetrace {

void rethrowAsPeerLost(int rank, const std::string& doing, int peer) {
  const std::string who = "rank " + std::to_string(rank) + " gave up " + doing + ": ";
  const auto lost = [&](const std::exception& error) {
    return PeerLost(who + "rank " + std::to_string(peer) + " is gone or does not answer (" +
                    firstLineOf(error) + ")");
  };
  try {
    throw;
  } catch (const PeerLost& e) {
    throw PeerLost(who + e.what());
  } catch (const Error& e) {
    throw Error(who + e.what());
  } catch (const std::bad_alloc&) {
    throw Error(who + "there is not enough memory");
  } catch (const c10::DistError& e) {  // of the store, or a connection
    throw lost(e);
  } catch (const c10::Error& e) {  // of a tensor, for example that there is no memory for it
    throw Error(who + firstLineOf(e));
  } catch (const std::exception& e) {  // Gloo's own
    throw lost(e);
  }
}

}  // namespace pipetrace
