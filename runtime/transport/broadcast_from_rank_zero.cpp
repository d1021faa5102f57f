#include "runtime/transport/broadcast_from_rank_zero.h"

#include <exception>

#include "runtime/control/start/run_start.h"
#include "runtime/errors/error_text.h"
#include "runtime/transport/gloo_store.h"

namespace pipetrace {

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
