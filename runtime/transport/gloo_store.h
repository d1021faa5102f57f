#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/control/start/run_start.h"

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

}  // namespace pipetrace
