#pragma once

#include <cstdint>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace::test {

/// Writes a trace as PyTorch's profiler does. Times and lengths are microseconds. Threads of the
/// host are of process 99, streams of the process `device`.
class KinetoText {
 public:
  static constexpr Nanoseconds kBegin = 1'700'000'000'000'000'000;  ///< of each trace

  struct Host {
    int thread = 1;
    std::int64_t begin = 0;
    std::int64_t length = 0;
  };
  struct Work {
    int stream = 7;
    std::int64_t begin = 0;
    std::int64_t length = 0;
    int device = 0;
  };

  /// `distributedInfo` of a rank; the world has `size` ranks. `groups`: elements of `pg_config`.
  KinetoText& rank(int rank, int size, const std::string& groups = "",
                   const std::string& backend = "nccl");
  KinetoText& annotation(const std::string& name, Host at);
  /// An annotation that begins and never ends.
  KinetoText& openAnnotation(const std::string& name, Host at);
  /// `arguments`: more of them, each with a comma before it.
  KinetoText& operation(const std::string& name, Host at, const std::string& arguments = "");
  /// A message of a process group: the operator that posts it takes 4 µs from `posted` on, and its
  /// span begins 1 µs before the operator's end.
  struct Message {
    std::int64_t posted = 0;
    std::int64_t end = 0;  ///< the wait for it is over
    std::string backend = "gloo";
  };
  KinetoText& receive(const Message& at);
  KinetoText& send(const Message& at);
  KinetoText& launch(std::int64_t correlation, Host at,
                     const std::string& name = "cudaLaunchKernel",
                     const char* category = "cuda_runtime");
  /// `arguments`: more of them, each with a comma before it.
  KinetoText& kernel(std::int64_t correlation, Work at, const std::string& name = "gemm",
                     const std::string& arguments = "");
  KinetoText& copy(std::int64_t correlation, Work at);
  /// The image of an annotation on a device.
  KinetoText& image(const std::string& name, std::int64_t externalId, Work at);
  /// An arrow from a forward operator to its backward.
  KinetoText& forwardArrow(int id, Host from, Host to);

  /// The `External id` of the latest annotation.
  std::int64_t latestId() const { return id_; }

  std::string text() const;

 private:
  KinetoText& add(const std::string& event);
  KinetoText& message(const char* operation, const char* name, const Message& at);
  KinetoText& work(const char* category, const std::string& name, std::int64_t correlation, Work at,
                   const std::string& arguments = "");

  std::string head_;
  std::string events_;
  std::int64_t id_ = 0;
};

}  // namespace pipetrace::test
