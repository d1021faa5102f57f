#include "runtime/transport/gloo_store.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <vector>

#include "runtime/errors/error_text.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// Runs `action`. Its exceptions become Error.
template <typename Action>
auto reach(const Action& action) {
  try {
    return action();
  } catch (const std::exception& e) {
    throw Error("cannot reach the store of the run: " + firstLineOf(e));
  }
}

std::vector<std::uint8_t> bytesOf(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

void GlooStore::set(const std::string& key, const std::string& value) {
  reach([&] { store_->set(key, value); });
}

std::string GlooStore::setOnce(const std::string& key, const std::string& value) {
  return reach([&] {
    const std::vector<std::uint8_t> kept = store_->compareSet(key, {}, bytesOf(value));
    return std::string(kept.begin(), kept.end());
  });
}

std::int64_t GlooStore::count(const std::string& key) {
  return reach([&] { return store_->add(key, 1); });
}

bool GlooStore::has(const std::string& key) {
  return reach([&] { return store_->check({key}); });
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

std::string broadcastFromRankZero(const ProcessEnv& env, RunStore& store, const std::string& key,
                                  const std::function<std::string()>& make) {
  constexpr Nanoseconds kNoLimit = 30 * 24 * 3600 * kNsPerSecond;
  GlooStore words(store.store);
  RunStart start(words, env.rank, env.worldSize, kNoLimit);
  if (env.rank != 0) {
    return start.await(key, [&] { return "rank 0 did not make " + key; });
  }
  std::string made;
  try {
    made = make();
  } catch (const std::exception& e) {
    start.fail(errorText(e));
  }
  words.set(key, made);
  return made;
}

}  // namespace pipetrace
