#include "profiler/log/log_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

// How long a record may stay in a ring. Waking the thread from a recording call would cost that
// call a system call; waking up often for nothing would cost processor time.
constexpr Nanoseconds kShortest = kNsPerMs;
constexpr Nanoseconds kLongest = 100 * kNsPerMs;
constexpr Nanoseconds kFirst = 10 * kNsPerMs;
// At most that many jobs of a stream come in that time, however large its ring: those of a device
// hold two events each.
constexpr std::uint64_t kManyJobs = 1024;

Nanoseconds threadCpuTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace

LogThread::LogThread(std::string path, RankInfo info, Nanoseconds holdLimit,
                     std::function<void()> giveWay, RecordingState& state)
    : state_(state),
      info_(std::move(info)),
      holdLimit_(holdLimit),
      file_(std::move(path)),
      interval_(kFirst),
      writer_(static_cast<int>(gettid())),
      texts_(state.front.texts()),
      lines_(writer_, file_, state) {
  file_.claim(std::move(giveWay));
  writer_.setNow(state_.clock.at(monotonicNow()));
  std::string meta;
  writer_.appendMeta(meta, info_, state_.file.name());
  if (file_.append(meta) > 0) {
    throw Error("cannot write the job log " + file_.path() + ": " +
                std::strerror(file_.firstError()));
  }
  const std::size_t payload = meta.find(log_format::kMeta) + log_format::kMeta.size();
  state_.front.finish(meta.substr(payload, meta.size() - payload - 1));
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    writeEnd();
    throw Error("cannot start the thread that writes the job log " + file_.path() + ": " +
                error.code().message() +
                "; raise the limit of processes and threads (ulimit -u, or that of the container)");
  }
}

LogThread::~LogThread() {
  try {
    close();
  } catch (const Error& error) {
    std::fprintf(stderr, "pipetrace: %s\n", error.what());
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
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    // Both are asked for together: nothing is taken from a ring between the last flush and the end.
    ++flushesAsked_;
    stop_ = true;
    wake_.notify_one();
  }
  thread_.join();
  state_.file.remove();
  file_.release();
  if (!file_.isThere()) {
    throw LogLost("lost the job log " + file_.path() + " with all its " +
                      std::to_string(lines_.written() + lines_.lost()) +
                      " lines: it was deleted while the program ran",
                  {.rank = info_.rank, .step = 0, .why = "it was deleted while the program ran"});
  }
  if (lines_.lost() > 0 || !endIsWritten_) {
    const std::string why = std::strerror(file_.firstError());
    const std::int32_t step = lines_.lostSince();
    throw LogLost("lost " + std::to_string(lines_.lost()) + " lines of the job log " +
                      file_.path() + (endIsWritten_ ? "" : " and its end") +
                      (step >= 0 ? ", from step " + std::to_string(step) + " on: " : ": ") + why +
                      "; earlier lines can still be read",
                  {.rank = info_.rank, .step = step, .why = why});
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
  pthread_setname_np(pthread_self(), "pipetrace-log");  // as tools that list threads show it
  blockSignals();
  std::unique_lock lock(mutex_);
  Nanoseconds flushSince = 0;
  while (!stop_ || flushesDone_ < flushesAsked_) {
    const Nanoseconds wait = std::min(interval_, sources_.untilNext(monotonicNow()));
    wake_.wait_for(lock, std::chrono::nanoseconds(wait),
                   [&] { return stop_ || flushesDone_ < flushesAsked_; });
    const std::uint64_t asked = flushesAsked_;
    const bool flushing = flushesDone_ < asked;
    const bool isLast = stop_;
    lock.unlock();
    drain(flushing, isLast);
    bool flushed = flushing && ringsAreEmpty();
    if (flushing && !flushed) {
      const Nanoseconds now = monotonicNow();
      if (flushSince == 0) flushSince = now;
      flushed = now - flushSince > kResolveLimit;
      if (!flushed) std::this_thread::sleep_for(std::chrono::nanoseconds(kShortest));
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

void LogThread::drain(bool everything, bool isLast) {
  takeEndedSteps();  // before the jobs, so that those queued before a step's end are seen below
  sources_.sample(state_.counters, monotonicNow(), state_.wantsSamples());
  gpu_.sample(state_.counters, monotonicNow(), state_.wantsSamples(), isLast);
  takeCounters();
  state_.hostClock.addAnchor();
  state_.front.noteAnchor(state_.hostClock);
  const Nanoseconds now = monotonicNow();
  adaptInterval();
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    state_.laneAt(i).stream().poll(everything);
    takeJobs(i, now);
  }
  completeSteps();
  held_.takeOlderThan(now - holdLimit_, ready_);
  // A step whose lines come in two parts is better than a job without a slot.
  if (everything || anyLaneIsCrowded()) held_.takeAll(ready_);
  writeLines(everything);
}

void LogThread::adaptInterval() {
  // Counts the jobs that came, not those that wait: jobs of a device may wait for a comparison of
  // clocks.
  std::uint64_t most = 0;
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    std::uint64_t& seen = seen_[static_cast<std::size_t>(i)];
    const std::uint64_t finished = state_.laneAt(i).finished();
    most = std::max(most, finished - seen);
    seen = finished;
  }
  const std::uint64_t many = std::min<std::uint64_t>(state_.slots / 16, kManyJobs);
  if (most > many) {
    interval_ = std::max(kShortest, interval_ / 2);
  } else if (most < many / 2) {
    interval_ = std::min(kLongest, interval_ + interval_ / 4);
  }
}

void LogThread::takeCounters() {
  while (const ring_format::CounterSlot* sample = state_.counters.take()) {
    if (counters_.empty()) oldestCounter_ = sample->monotonic;
    for (const std::uint64_t address : {sample->name, sample->unit}) {
      texts_.note(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(address)));
    }
    counters_.push_back(sample);
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
  DeviceStream& stream = lane.stream();
  while (const ring_format::Slot* slot = lane.front()) {
    TimedJob job{.lane = laneIndex};
    // A stream works in order: times after an unknown one are not known either.
    if (!stream.resolve(slot->begin, job.begin)) return;
    if (!stream.resolve(slot->end, job.end)) return;
    texts_.note(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(slot->action)));
    job.slot = lane.take(job.begin, job.end);
    if (job.begin == DeviceStream::kLost || job.end == DeviceStream::kLost) {
      ++untimed_;
      state_.front.noteLost(1);
      lane.release(job.slot);
      lane.giveBack();
    } else {
      held_.add(slot->step, job, now);
    }
  }
}

void LogThread::completeSteps() {
  Lane* const compute = state_.computeLane.load(std::memory_order_acquire);
  const std::uint64_t known = compute == nullptr ? 0 : compute->taken();
  while (!ended_.empty() && ended_.front().computeJobs <= known) {
    held_.takeUpTo(ended_.front().step, ready_);
    ended_.pop_front();
  }
}

void LogThread::writeLines(bool everything) {
  const Nanoseconds now = monotonicNow();
  lines_.setNow(now);
  if (everything || !ready_.empty() || now - oldestCounter_ > holdLimit_ ||
      counters_.size() > ring_format::kCounters / 2) {
    for (const ring_format::CounterSlot* sample : counters_) lines_.add(*sample);
    counters_.clear();
  }
  for (const TimedJob& job : ready_) lines_.add(job);
  ready_.clear();
  everything ? lines_.writeAll() : lines_.writeOld();
}

bool LogThread::anyLaneIsCrowded() const {
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    if (state_.laneAt(i).isCrowded()) return true;
  }
  return false;
}

bool LogThread::ringsAreEmpty() const {
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    if (state_.laneAt(i).front() != nullptr) return false;
  }
  return true;
}

void LogThread::writeEnd() {
  lines_.setNow(monotonicNow());
  lines_.writeAll();
  RankInfo end = info_;
  end.written = lines_.written();
  end.dropped = lines_.lost() + untimed_ + state_.counters.dropped();
  end.failedWrites = file_.failures();
  end.misuses = state_.misuses.load(std::memory_order_relaxed) + sources_.failures();
  const int lanes = state_.laneCount.load(std::memory_order_acquire);
  for (int i = 0; i < lanes; ++i) {
    Lane& lane = state_.laneAt(i);
    end.dropped += lane.dropped() + static_cast<std::int64_t>(lane.finished() - lane.taken());
    end.misuses += lane.misuses();
    end.lateStarts += lane.stream().lateStarts();
    end.ownCost += state_.hostClock.duration(lane.ownTicks());
  }
  end.errors = end.misuses + end.failedWrites;
  end.logThreadCost = threadCpuTime();
  std::string line;
  writer_.appendEnd(line, end);
  endIsWritten_ = file_.append(line) == 0;
  if (endIsWritten_ || !file_.isThere()) return;
  // On a full disk the ring file, which is not needed any more, has room for the line.
  state_.file.moveToMemory();
  endIsWritten_ = file_.append(line) == 0;
}

}  // namespace pipetrace
