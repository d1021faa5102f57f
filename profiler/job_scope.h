#pragma once

#include <cstdint>

#include "profiler/recorder.h"

namespace pipetrace {

/// A job of a Recorder from here to the end of the block, however the block is left. The recorder
/// must outlive it. In programs that use the C header it is pipetrace::Scope
/// (profiler/pipetrace.h).
class JobScope {
 public:
  JobScope(Recorder& recorder, StreamId stream, const Job& job) noexcept
      : recorder_(recorder), stream_(stream), id_(recorder.begin(stream, job)) {}
  ~JobScope() { recorder_.end(stream_); }
  JobScope(const JobScope&) = delete;
  JobScope& operator=(const JobScope&) = delete;

  /// The id that begin() returned.
  std::int64_t id() const noexcept { return id_; }

 private:
  Recorder& recorder_;
  const StreamId stream_;
  const std::int64_t id_;
};

}  // namespace pipetrace
