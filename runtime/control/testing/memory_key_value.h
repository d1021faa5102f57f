#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "runtime/control/start/run_start.h"
#include "trace/error.h"

namespace pipetrace::testing {

/// Keys and values of threads of one process.
class MemoryKeyValue final : public KeyValue {
 public:
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }
  std::string setOnce(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    const std::string& kept = values_.emplace(key, value).first->second;
    changed_.notify_all();
    return kept;
  }
  std::int64_t count(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    return ++counts_[key];
  }
  bool has(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    return values_.count(key) > 0;
  }
  std::string get(const std::string& key, Nanoseconds timeout) override {
    std::unique_lock lock(mutex_);
    const auto isThere = [&] { return values_.count(key) > 0; };
    if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout), isThere)) {
      throw Error("nobody has set " + key);
    }
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace pipetrace::testing
