#include "runtime/errors/error_text.h"

#include <c10/util/Exception.h>

#include <new>

#include "runtime/lanes/lane.h"

namespace pipetrace {

std::string errorText(const std::exception& error) {
  const auto* ofTorch = dynamic_cast<const c10::Error*>(&error);
  return ofTorch != nullptr ? ofTorch->what_without_backtrace() : error.what();
}

std::string errorText(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return errorText(e);
  } catch (...) {
    return "unknown error";
  }
}

std::string firstLineOf(const std::exception& error) {
  const std::string text = errorText(error);
  return text.substr(0, text.find('\n'));
}

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
