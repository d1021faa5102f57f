#pragma once

#include <memory>

#include "profiler/cuda/stream.h"
#include "profiler/testing/fake_cuda.h"

namespace pipetrace {

/// Tests: a CudaStream on a FakeCuda's device 0, and the work that is queued on it.
struct FakeCudaStream {
  /// One job as it really was.
  struct Truth {
    DeviceStream::Mark start = 0;
    DeviceStream::Mark end = 0;
    Nanoseconds began = 0;  ///< by the host's clock
    Nanoseconds ended = 0;
  };

  explicit FakeCudaStream(CudaStreamOptions options = {}, const FakeCudaBehaviour& behaviour = {})
      : cuda(std::make_shared<FakeCuda>(behaviour)),
        device(std::make_shared<CudaDevice>(cuda, 0)),
        handle(cuda->newStream()),
        stream(device, handle, options) {}

  /// Queues a job.
  Truth job(Nanoseconds duration) {
    Truth truth;
    truth.start = stream.markStart();
    truth.began = cuda->lastRecordAt(handle);
    cuda->work(handle, duration);
    truth.end = stream.mark();
    truth.ended = cuda->lastRecordAt(handle);
    return truth;
  }

  /// Lets the host's clock go on, with a turn for the log thread at least every `turn`.
  void pass(Nanoseconds duration, Nanoseconds turn = 10 * kNsPerMs) {
    for (const Nanoseconds until = cuda->hostNow() + duration; cuda->hostNow() < until;) {
      cuda->advance(std::min(turn, until - cuda->hostNow()));
      stream.poll(false);
    }
  }

  /// kLost: it is; kNotYet: it is not known yet.
  static constexpr Nanoseconds kNotYet = kNsMax;
  Nanoseconds timeOf(DeviceStream::Mark mark) {
    BoundedTime time;
    return stream.resolve(mark, time) ? time.time : kNotYet;
  }

  /// Both times of a job.
  struct Times {
    Nanoseconds start = kNotYet;
    Nanoseconds end = kNotYet;
  };
  Times timesOf(const Truth& job) {
    Times times;
    times.start = timeOf(job.start);
    times.end = timeOf(job.end);
    return times;
  }

  std::shared_ptr<FakeCuda> cuda;
  std::shared_ptr<CudaDevice> device;
  CudaApi::Stream handle;
  CudaStream stream;
};

}  // namespace pipetrace
