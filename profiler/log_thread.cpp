#include "profiler/log_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

// How long a record may lie in a ring. Waking the thread from a recording call would cost that call
// a system call.
constexpr auto kInterval = std::chrono::milliseconds(10);
// Lines are handed to write(2) in pieces of about this size.
constexpr std::size_t kWriteSize = 64 * 1024;

}  // namespace

LogThread::LogThread(std::string path, RankInfo info, Nanoseconds holdLimit, RecordingState& state)
    : state_(state),
      info_(std::move(info)),
      holdLimit_(holdLimit),
      file_(std::move(path)),
      writer_(static_cast<int>(gettid())) {
  writer_.setNow(state_.clock.at(monotonicNow()));
  std::string meta;
  writer_.appendMeta(meta, info_);
  if (file_.append(meta) > 0) {
    throw Error("cannot write the job log " + file_.path() + ": " +
                std::strerror(file_.firstError()));
  }
  thread_ = std::thread([this] { run(); });
}

LogThread::~LogThread() {
  try {
    close();
  } catch (const Error&) {
    // Whoever wants to know calls close().
  }
}

void LogThread::flush() {
  std::unique_lock lock(mutex_);
  if (closed_) return;
  const std::uint64_t mine = ++flushesAsked_;
  wake_.notify_one();
  done_.wait(lock, [&] { return flushesDone_ >= mine; });
}

void LogThread::close() {
  flush();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    stop_ = true;
    wake_.notify_one();
  }
  thread_.join();
  if (file_.failures() > 0) {
    throw Error("lost " + std::to_string(lost_) + " lines of the job log " + file_.path() + ": " +
                std::strerror(file_.firstError()) + "; what was written before can still be read");
  }
}

void LogThread::blockSignals() {
  // The program's handlers run on its own threads; and SIGXFSZ, when the file hits a size limit,
  // must not end the training.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

void LogThread::run() {
  blockSignals();
  std::unique_lock lock(mutex_);
  Nanoseconds flushSince = 0;
  while (!stop_) {
    wake_.wait_for(lock, kInterval, [&] { return stop_ || flushesDone_ < flushesAsked_; });
    const std::uint64_t asked = flushesAsked_;
    const bool flushing = flushesDone_ < asked;
    lock.unlock();
    drain(flushing);
    bool flushed = flushing && ringsAreEmpty();
    if (flushing && !flushed) {
      const Nanoseconds now = monotonicNow();
      if (flushSince == 0) flushSince = now;
      flushed = now - flushSince > kResolveLimit;
      if (!flushed) std::this_thread::sleep_for(kInterval / 10);
    }
    lock.lock();
    if (flushed) {
      flushSince = 0;
      flushesDone_ = asked;
      done_.notify_all();
    }
  }
  lock.unlock();
  writeEnd();
}

void LogThread::drain(bool everything) {
  takeEndedSteps();  // before the jobs: what was queued before a step's end is then seen below
  takeCounters();
  const Nanoseconds now = monotonicNow();
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    state_.laneAt(i).stream().poll(everything);
    takeJobs(i, now);
  }
  completeSteps();
  held_.takeOlderThan(now - holdLimit_, ready_);
  if (everything) held_.takeAll(ready_);
  writeLines(everything);
}

void LogThread::takeCounters() {
  CounterRecord counter;
  while (state_.counters.pop(counter)) {
    if (counters_.empty()) oldestCounter_ = counter.monotonic;
    counters_.push_back(counter);
  }
}

void LogThread::takeEndedSteps() {
  while (const EndedStep* ended = state_.endedSteps.front()) {
    ended_.push_back(*ended);
    state_.endedSteps.pop();
  }
}

void LogThread::takeJobs(int laneIndex, Nanoseconds now) {
  Lane& lane = state_.laneAt(laneIndex);
  while (const JobRecord* record = lane.ring().front()) {
    TimedJob timed{.job = record->job, .lane = laneIndex};
    // A stream works in order: what comes after an unknown time is not known either.
    if (!lane.stream().resolve(record->begin, timed.begin)) return;
    if (!lane.stream().resolve(record->end, timed.end)) return;
    lane.ring().pop();
    if (timed.begin == DeviceStream::kLost || timed.end == DeviceStream::kLost) {
      ++untimed_;
    } else {
      held_.add(timed, now);
    }
  }
}

void LogThread::completeSteps() {
  Lane* const compute = state_.computeLane.load(std::memory_order_acquire);
  const std::size_t known = compute == nullptr ? 0 : compute->ring().popped();
  while (!ended_.empty() && ended_.front().computeJobs <= known) {
    held_.takeUpTo(ended_.front().step, ready_);
    ended_.pop_front();
  }
}

void LogThread::format(const TimedJob& timed) {
  Lane& lane = state_.laneAt(timed.lane);
  const Job& job = timed.job;
  if (&lane == state_.computeLane.load(std::memory_order_acquire)) {
    writer_.append(lines_, JobLine{.type = logName(job.kind),
                                   .number = job.microBatch,
                                   .microBatch = job.microBatch,
                                   .begin = timed.begin,
                                   .end = timed.end,
                                   .id = job.id,
                                   .step = job.step,
                                   .stage = job.stage,
                                   .chunk = job.chunk,
                                   .stream = lane.name(),
                                   .action = job.action == nullptr ? "" : job.action});
  } else {
    writer_.append(lines_, StreamLine{.type = logName(job.kind),
                                      .microBatch = job.microBatch,
                                      .begin = timed.begin,
                                      .end = timed.end,
                                      .stream = lane.name(),
                                      .peer = job.peer,
                                      .bytes = job.bytes,
                                      .job = job.id,
                                      .step = job.step,
                                      .stage = job.stage,
                                      .chunk = job.chunk});
  }
}

void LogThread::writeLines(bool everything) {
  const auto writeOut = [&] {
    const std::int64_t lost = file_.append(lines_);
    lost_ += lost;
    written_ += formatted_ - lost;
    formatted_ = 0;
    lines_.clear();
  };
  const Nanoseconds now = monotonicNow();
  writer_.setNow(state_.clock.at(now));
  if (everything || !ready_.empty() || now - oldestCounter_ > holdLimit_) {
    for (const CounterRecord& counter : counters_) {
      writer_.append(lines_, CounterLine{.name = counter.name,
                                         .time = state_.clock.at(counter.monotonic),
                                         .value = counter.value,
                                         .unit = counter.unit == nullptr ? "" : counter.unit});
      ++formatted_;
      if (lines_.size() >= kWriteSize) writeOut();
    }
    counters_.clear();
  }
  for (const TimedJob& timed : ready_) {
    format(timed);
    ++formatted_;
    if (lines_.size() >= kWriteSize) writeOut();
  }
  ready_.clear();
  if (!lines_.empty()) writeOut();
}

bool LogThread::ringsAreEmpty() const {
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    if (state_.laneAt(i).ring().front() != nullptr) return false;
  }
  return true;
}

void LogThread::writeEnd() {
  RankInfo end = info_;
  end.written = written_;
  end.dropped = lost_ + untimed_ + state_.droppedCounters.load(std::memory_order_relaxed);
  end.errors = file_.failures() + state_.misuses.load(std::memory_order_relaxed);
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    Lane& lane = state_.laneAt(i);
    const auto unresolved = lane.ring().pushed() - lane.ring().popped();
    end.dropped += lane.dropped() + static_cast<std::int64_t>(unresolved);
    end.errors += lane.misuses();
    end.lateStarts += lane.stream().lateStarts();
    end.ownCost += lane.ownCost();
  }
  writer_.setNow(state_.clock.at(monotonicNow()));
  writer_.appendEnd(lines_, end);
  file_.append(lines_);
}

}  // namespace pipetrace
