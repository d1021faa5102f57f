#include "runtime/testing/device/operator_run.h"

#include <ctime>

#include "runtime/testing/device/host_side.h"

namespace pipetrace::test_device {
namespace {

std::int64_t cpuTimeOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

OperatorRun::OperatorRun(const std::string& name, c10::Stream stream)
    : name_(name), stream_(stream), hooks_(deviceHooks()) {
  if (hooks_->beforeOperator) hooks_->beforeOperator(name, stream);
  deviceState().held.awaitAll(stream);
}

Operation OperatorRun::enqueue() {
  Actors& actors = deviceState().actors;
  actor_ = actors.of(stream_);
  return actors.enqueue(actor_, name_);
}

std::int64_t OperatorRun::beginTime() const {
  return hooks_->afterOperator ? cpuTimeOfThread() : 0;
}

void OperatorRun::reportTime(std::int64_t begin) const {
  if (hooks_->afterOperator) hooks_->afterOperator(stream_, cpuTimeOfThread() - begin);
}

void OperatorRun::waitOnHost() const {
  hostWaits(deviceState().actors.knownBy(actor_), &HostWaits::copies);
}

}  // namespace pipetrace::test_device
