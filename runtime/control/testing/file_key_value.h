#pragma once

#include <string>

#include "runtime/control/start/run_start.h"

namespace pipetrace::testing {

/// Keys and values of processes on one host: files of a folder that exists.
class FileKeyValue final : public KeyValue {
 public:
  explicit FileKeyValue(std::string folder) : folder_(std::move(folder)) {}
  void set(const std::string& key, const std::string& value) override;
  std::string setOnce(const std::string& key, const std::string& value) override;
  std::int64_t count(const std::string& key) override;
  bool has(const std::string& key) override;
  std::string get(const std::string& key, Nanoseconds timeout) override;

 private:
  std::string pathOf(const std::string& key) const;

  std::string folder_;
};

}  // namespace pipetrace::testing
