#include "runtime/transport/gloo_store.h"

#include <chrono>

#include "runtime/error_text.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {

void GlooStore::set(const std::string& key, const std::string& value) {
  try {
    store_->set(key, value);
  } catch (const std::exception& e) {
    throw Error("cannot reach the store of the run: " + firstLineOf(e));
  }
}

std::string GlooStore::get(const std::string& key, Nanoseconds timeout) {
  try {
    store_->wait({key}, std::chrono::milliseconds(timeout / kNsPerMs));
    return store_->get_to_str(key);
  } catch (const std::exception& e) {
    throw Error("nobody has set " + key + " in the store of the run within " +
                formatDuration(timeout) + ": " + firstLineOf(e));
  }
}

}  // namespace pipetrace
