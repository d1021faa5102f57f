#pragma once

#include <string>

#include "runtime/control/start/key_value.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The start of a run, when its ranks have nothing but the store. A rank that cannot start tells
/// all, so that nobody waits for it.
///
/// Threads: one at a time.
class RunStart {
 public:
  /// `timeout`: for all of the start, from now on. `store` must outlive it.
  RunStart(KeyValue& store, int rank, int worldSize, Nanoseconds timeout);

  KeyValue& store() { return store_; }
  Nanoseconds left() const;

  /// Waits for a value. Throws Error with the text that any rank gave to fail(). After the timeout
  /// calls fail(missing): "rank 3 did not come".
  std::string await(const std::string& key, const std::string& missing);
  /// Throws Error if a rank has failed, or fails with `missing` after the timeout. Costs a message
  /// to the store and back.
  void check(const std::string& missing);
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
