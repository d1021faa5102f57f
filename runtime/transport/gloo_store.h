#pragma once

#include <functional>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/control/start/run_start.h"
#include "runtime/starting_ranks/process_env.h"

namespace pipetrace {

/// LibTorch's store of a run, for more groups of its ranks.
struct RunStore {
  c10::intrusive_ptr<c10d::Store> store;
};

/// Keys and values of a run in LibTorch's store.
class GlooStore : public KeyValue {
 public:
  explicit GlooStore(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  void set(const std::string& key, const std::string& value) override;
  std::string setOnce(const std::string& key, const std::string& value) override;
  std::int64_t count(const std::string& key) override;
  bool has(const std::string& key) override;
  std::string get(const std::string& key, Nanoseconds timeout) override;

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
};

/// A text that rank 0 makes, before the ranks of a run come together. All call it; the others wait
/// in the run's store, as long as it takes. An exception of `make` is an Error of all ranks, and so
/// is the end of rank 0's process. `key` is its place in the store, one for each call.
std::string broadcastFromRankZero(const ProcessEnv& env, RunStore& store, const std::string& key,
                                  const std::function<std::string()>& make);

}  // namespace pipetrace
