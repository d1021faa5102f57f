#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// One record of CUPTI, as far as it matters here.
struct CuptiRecord {
  enum class Kind : std::uint8_t {
    kCorrelation,  ///< an API call with this number was made for `job`
    kKernel,
    kCopy,
    kMemset,
  };
  Kind kind = Kind::kKernel;
  std::uint32_t correlation = 0;  ///< number of the API call
  std::uint32_t stream = 0;
  std::int64_t job = -1;
  std::int64_t bytes = -1;
  Nanoseconds begin = 0;  ///< since the Unix epoch
  Nanoseconds end = 0;
  const char* name = "";  ///< valid during the call
};

/// The calls of CUPTI that collecting needs. Tests put a CUPTI without a device in their place.
/// makeCupti() makes the real one. No call throws; pushJob() and popJob() from any thread.
class CuptiApi {
 public:
  enum class Activity : std::uint8_t {
    kExternalCorrelation,
    kRuntimeCalls,
    kDriverCalls,
    kKernels,
    kCopies,
    kMemsets,
  };
  using Sink = std::function<void(const CuptiRecord&)>;

  virtual ~CuptiApi() = default;

  /// Devices that CUPTI can watch. Ask first: without a driver some of the other calls seem to
  /// work.
  virtual int deviceCount() noexcept = 0;
  /// Sets up buffers, and times as ns since the Unix epoch. Call it before anything is enabled.
  virtual bool setUp() noexcept = 0;
  /// `sink` gets all records, on CUPTI's threads and on the one that calls flush(), one at a time.
  virtual bool deliverTo(Sink sink) noexcept = 0;
  virtual bool enable(Activity activity) noexcept = 0;
  virtual void disable(Activity activity) noexcept = 0;
  /// Delivers complete records; `all`: the others, too.
  virtual bool flush(bool all) noexcept = 0;
  /// Takes CUPTI out of the process; the calls that it slows down would stay slow otherwise.
  virtual void finalize() noexcept = 0;

  /// Calls of the CUDA API on this thread are counted to `job` until popJob().
  virtual void pushJob(std::int64_t job) noexcept = 0;
  virtual void popJob() noexcept = 0;

  /// Records that CUPTI had no room for, so far.
  virtual std::int64_t dropped() noexcept = 0;
  virtual std::string lastError() = 0;
};

/// CUPTI itself (target pipetrace::profiler_cuda). One per process.
std::shared_ptr<CuptiApi> makeCupti();

}  // namespace pipetrace
