#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/control/steady_time.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Where ranks leave words for each other while they come together, such as LibTorch's TCPStore.
/// All functions throw Error if it cannot be reached.
class KeyValue {
 public:
  virtual ~KeyValue() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Sets the value unless there is one. Returns the one that there is then.
  virtual std::string setOnce(const std::string& key, const std::string& value) = 0;
  /// Counts one more, from 1.
  virtual std::int64_t count(const std::string& key) = 0;
  virtual bool has(const std::string& key) = 0;
  /// Waits for the value. Throws Error if nobody has set it within `timeout`.
  virtual std::string get(const std::string& key, Nanoseconds timeout) = 0;
};

/// The start of a run, when its ranks have nothing but the store. A rank that cannot start tells
/// all, so that nobody waits for it.
///
/// Threads: one at a time.
class RunStart {
 public:
  /// `timeout`: for all of the start, since `begun` (steadyTime()). `store` must outlive it.
  RunStart(KeyValue& store, int rank, int worldSize, Nanoseconds timeout,
           Nanoseconds begun = steadyTime());

  KeyValue& store() { return store_; }
  Nanoseconds left() const;

  /// Says what is missing: "rank 3 did not come".
  using Missing = std::function<std::string()>;

  /// Waits for a value. Throws Error with the text that any rank gave to fail(). After the timeout
  /// calls fail(missing()).
  std::string await(const std::string& key, const Missing& missing);
  /// Throws Error if a rank has failed, or fails with missing() after the timeout. Costs a message
  /// to the store and back.
  void check(const Missing& missing);
  /// This rank cannot start. Throws Error, on this rank and on all others, with the text of the
  /// first that failed. Rank 0, with which the store may go, waits until the others know, for a
  /// second at most.
  [[noreturn]] void fail(const std::string& text);

 private:
  [[noreturn]] void end(const std::string& text);

  KeyValue& store_;
  const int rank_;
  const int worldSize_;
  const Nanoseconds timeout_;
  const Nanoseconds end_;
};

}  // namespace pipetrace
