#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "profiler/cuda/api.h"

namespace pipetrace {

/// How the devices of a FakeCuda behave.
struct FakeCudaBehaviour {
  double driftPpm = 18;    ///< the device's clock runs that much faster than the host's
  double wanderPpm = 0.5;  ///< and its rate swings by that much, slowly
  /// From a record on an idle stream until the host can see that it is done; the device's stamp is
  /// taken somewhere in between, mostly early.
  Nanoseconds narrowest = 3 * kNsPerUs;
  Nanoseconds widest = 20 * kNsPerUs;
  int oneInIsTenTimesWider = 20;
  Nanoseconds stampStep = 32;  ///< of the device's clock
  Nanoseconds callCost = 150;  ///< host time that a call takes
  int devices = 2;
  bool hasUuids = false;  ///< device n has that of bytes from 16 n on: 16 n, 16 n + 1, ...
  std::uint64_t seed = 1;
};

/// Tests: the CUDA runtime with made-up devices, on a host clock that moves only by advance(), and
/// by the cost of calls. Streams do their work in order; a device's clock drifts and wanders;
/// elapsed times are rounded to a float of milliseconds as CUDA's are. It knows when everything
/// really happened, and which calls real CUDA would refuse. Any thread.
class FakeCuda : public CudaApi {
 public:
  explicit FakeCuda(const FakeCudaBehaviour& behaviour = {});

  // The world.
  void advance(Nanoseconds duration);
  Stream newStream(int device = 0);
  /// Queues work on the stream.
  void work(Stream stream, Nanoseconds duration);
  /// Later work on the stream begins no earlier than that, by the host's clock. Ends the oldest
  /// hold() of the stream, if it has one.
  void holdUntil(Stream stream, Nanoseconds time);
  /// The stream waits for something whose time is not known yet. Until holdUntil() says it, events
  /// that are recorded from now on do not happen, and the stream takes no work.
  void hold(Stream stream);
  /// When the work queued so far will be done, by the host's clock.
  Nanoseconds doneAt(Stream stream);
  /// When the latest event recorded on the stream happens, by the host's clock.
  Nanoseconds lastRecordAt(Stream stream);

  // Faults.
  void refuseRecords(int next);          ///< this many records fail
  void failQueries(int next);            ///< this many queries of events that are done fail
  void failElapsed(int next);            ///< this many elapsed() calls fail
  void hang(Stream stream, bool hangs);  ///< queued work is never done, nor later work
  void reset(int device);                ///< its streams and events are gone
  void beginCapture(Stream stream);
  /// Whether nothing spoiled the graph.
  bool endCapture();

  // Counts of calls.
  struct Calls {
    std::int64_t records = 0;
    std::int64_t queries = 0;
    std::int64_t all = 0;
    std::int64_t stale = 0;                ///< with an event or a stream that a reset took
    std::int64_t wrongDevice = 0;          ///< while another device was current
    std::array<std::int64_t, 8> chosen{};  ///< setDevice(), by device
  };
  Calls calls();
  std::int64_t liveEvents();

  Nanoseconds hostNow() noexcept override;
  int deviceCount() noexcept override;
  bool setDevice(int device) noexcept override;
  int currentDevice() noexcept override;
  std::string deviceName(int /*device*/) override { return "made-up device"; }
  bool deviceUuid(int device, Uuid& uuid) noexcept override;
  Event createEvent() noexcept override;
  void destroyEvent(Event event) noexcept override;
  Stream createStream() noexcept override;
  void destroyStream(Stream stream) noexcept override;
  Status record(Event event, Stream stream) noexcept override;
  Status query(Event event) noexcept override;
  Status elapsed(Event from, Event to, float& milliseconds) noexcept override;
  bool exchangeRelaxedCapture(bool relaxed) noexcept override;
  std::string lastError() override;

 private:
  struct Device {
    int generation = 0;
  };
  struct FakeEvent;
  /// A place in a stream after a hold. No event: another hold.
  struct Later {
    FakeEvent* event = nullptr;
    Nanoseconds recordedAt = 0;
  };
  struct FakeStream {
    int device = 0;
    int generation = 0;
    Nanoseconds busyUntil = 0;
    Nanoseconds lastRecordAt = 0;
    Nanoseconds lastVisibleAt = 0;
    bool isCapturing = false;
    bool hangs = false;
    std::deque<Later> later = {};  // empty, or it begins with a hold
  };
  struct FakeEvent {
    int device = 0;
    int generation = 0;
    FakeStream* stream = nullptr;  // null: never recorded
    Nanoseconds at = 0;
    Nanoseconds visibleAt = 0;
  };
  struct ThreadState {
    int device = 0;
    bool relaxed = false;
  };

  std::unique_lock<std::mutex> call();
  ThreadState& thisThread() { return threads_[std::this_thread::get_id()]; }
  Nanoseconds drawWidth();
  /// The device's clock at a time of the host's.
  Nanoseconds stamp(Nanoseconds at) const;
  template <typename T>
  bool isStale(const T& thing);
  bool takeOne(int& count, const char* error);

  const FakeCudaBehaviour behaviour_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  Nanoseconds now_ = 1'000'000 * kNsPerSecond;
  std::deque<Device> devices_;
  std::deque<FakeStream> streams_;
  std::deque<FakeEvent> events_;
  std::map<std::thread::id, ThreadState> threads_;
  std::int64_t liveEvents_ = 0;
  int refusals_ = 0;
  int queryFailures_ = 0;
  int elapsedFailures_ = 0;
  FakeStream* capturing_ = nullptr;
  bool captureIsValid_ = true;
  Calls calls_;
  std::string lastError_ = "no error";
};

}  // namespace pipetrace
