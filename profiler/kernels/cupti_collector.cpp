#include "profiler/kernels/cupti_collector.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/process/log_file.h"
#include "trace/log/log_writer.h"

namespace pipetrace {

namespace {

using Activity = CuptiApi::Activity;
using Kind = CuptiRecord::Kind;

// External correlation is enabled before the calls that it names, and the calls before the
// activities that they start. No graph trace beside kernels: CUPTI does not give both.
constexpr std::array kActivities{Activity::kExternalCorrelation,
                                 Activity::kRuntimeCalls,
                                 Activity::kDriverCalls,
                                 Activity::kKernels,
                                 Activity::kCopies,
                                 Activity::kMemsets};
// The number of a job's log stands above the job in CUPTI's ids.
constexpr int kJobBits = 48;
// An activity waits for that many flushes before it is written without a job.
constexpr int kMostRounds = 3;

}  // namespace

class CuptiCollector::Impl {
 public:
  Impl(std::shared_ptr<CuptiApi> api, CudaKernelLog& log, Nanoseconds flushEvery);
  /// A forked child has neither this thread nor CUPTI's.
  void abandon() noexcept {}

  bool isRunning() const noexcept { return isRunning_.load(std::memory_order_relaxed); }
  const std::string& trouble() const { return trouble_; }
  CuptiApi& api() { return *api_; }
  /// Only if it is running. Returns how many records CUPTI has dropped.
  std::int64_t stop();
  std::int64_t unwritten();
  int addLog(CudaKernelLog& log);
  void removeLog(int number);

 private:
  // Calls are kept in two generations, the last one and the one before; at least this many are
  // remembered.
  static constexpr std::size_t kCalls = 1U << 18;

  /// An activity whose call is not known yet: buffers of calls and of devices come independently.
  struct Waiting {
    CuptiRecord record;
    std::string name;
    int rounds = 0;
  };

  bool start();
  bool fail(const std::string& what);
  void run();
  void take(const CuptiRecord& record);
  void settle(int rounds);
  std::int64_t jobOf(std::uint32_t correlation) const;
  void write(const CuptiRecord& record, const std::string& name, std::int64_t id);
  CudaKernelLog* logOf(std::int64_t id) const;
  void flushLogs();

  const std::shared_ptr<CuptiApi> api_;
  const Nanoseconds flushEvery_;
  std::atomic<bool> isRunning_ = false;
  std::string trouble_;

  std::mutex records_;                // guards the next four
  std::vector<CudaKernelLog*> logs_;  // by number; null: removed
  std::int64_t lostOfRemoved_ = 0;
  std::array<std::unordered_map<std::uint32_t, std::int64_t>, 2> calls_;
  std::deque<Waiting> waiting_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

CuptiCollector::CuptiCollector(std::shared_ptr<CuptiApi> api, CudaKernelLog& log,
                               Nanoseconds flushEvery)
    : impl_(std::in_place, std::move(api), log, flushEvery), trouble_(impl_.get()->trouble()) {
  if (!isRunning()) {
    std::fprintf(stderr, "pipetrace: kernels are not recorded: %s\n", trouble_.c_str());
  }
}

CuptiCollector::~CuptiCollector() { stop(); }

bool CuptiCollector::isRunning() const noexcept {
  const Impl* const impl = impl_.get();
  return impl != nullptr && impl->isRunning();
}

void CuptiCollector::beginJob(std::int64_t job, int log) noexcept {
  if (isRunning()) impl_.get()->api().pushJob(std::int64_t{log} << kJobBits | job);
}

int CuptiCollector::addLog(CudaKernelLog& log) {
  Impl* const impl = impl_.get();
  return impl != nullptr ? impl->addLog(log) : 0;
}

void CuptiCollector::removeLog(int number) {
  if (Impl* const impl = impl_.get()) impl->removeLog(number);
}

void CuptiCollector::endJob() noexcept {
  if (isRunning()) impl_.get()->api().popJob();
}

void CuptiCollector::stop() {
  if (!isRunning()) return;
  dropped_ = impl_.get()->stop();
  const std::int64_t unwritten = impl_.get()->unwritten();
  if (dropped_ > 0 || unwritten > 0) {
    std::fprintf(stderr,
                 "pipetrace: kernels are missing in the log: CUPTI dropped %lld records, and %lld "
                 "lines could not be written\n",
                 static_cast<long long>(dropped_), static_cast<long long>(unwritten));
  }
}

CuptiCollector::Impl::Impl(std::shared_ptr<CuptiApi> api, CudaKernelLog& log,
                           Nanoseconds flushEvery)
    : api_(std::move(api)), flushEvery_(flushEvery), logs_{&log} {
  isRunning_ = start();
  if (isRunning()) thread_ = std::thread([this] { run(); });
}

bool CuptiCollector::Impl::start() {
  if (api_->deviceCount() == 0) return fail("CUPTI finds no device");
  if (!api_->setUp()) return fail("CUPTI cannot be set up");
  if (!api_->deliverTo([this](const CuptiRecord& record) { take(record); })) {
    return fail("CUPTI takes no buffers");
  }
  for (std::size_t i = 0; i < kActivities.size(); ++i) {
    if (api_->enable(kActivities[i])) continue;
    fail("CUPTI cannot watch (is another profiler attached?)");
    while (i > 0) api_->disable(kActivities[--i]);
    api_->finalize();
    return false;
  }
  return true;
}

bool CuptiCollector::Impl::fail(const std::string& what) {
  trouble_ = what + ": " + api_->lastError();
  return false;
}

void CuptiCollector::Impl::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::nanoseconds(flushEvery_), [&] { return stop_; })) {
    lock.unlock();
    api_->flush(false);
    settle(kMostRounds);
    flushLogs();
    lock.lock();
  }
}

std::int64_t CuptiCollector::Impl::stop() {
  isRunning_ = false;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  thread_.join();
  api_->flush(true);
  settle(0);
  for (auto activity = kActivities.rbegin(); activity != kActivities.rend(); ++activity) {
    api_->disable(*activity);
  }
  const std::int64_t dropped = api_->dropped();
  api_->finalize();
  flushLogs();
  return dropped;
}

int CuptiCollector::Impl::addLog(CudaKernelLog& log) {
  const std::lock_guard lock(records_);
  logs_.push_back(&log);
  return static_cast<int>(logs_.size()) - 1;
}

void CuptiCollector::Impl::removeLog(int number) {
  if (isRunning()) {
    api_->flush(true);
    settle(kMostRounds);
  }
  const std::lock_guard lock(records_);
  CudaKernelLog*& log = logs_.at(static_cast<std::size_t>(number));
  if (log == nullptr) return;
  log->flush();
  lostOfRemoved_ += log->lost();
  log = nullptr;
}

void CuptiCollector::Impl::flushLogs() {
  const std::lock_guard lock(records_);
  for (CudaKernelLog* const log : logs_) {
    if (log != nullptr) log->flush();
  }
}

std::int64_t CuptiCollector::Impl::unwritten() {
  const std::lock_guard lock(records_);
  std::int64_t lost = lostOfRemoved_;
  for (const CudaKernelLog* const log : logs_) lost += log != nullptr ? log->lost() : 0;
  return lost;
}

void CuptiCollector::Impl::take(const CuptiRecord& record) {
  const std::lock_guard lock(records_);
  if (record.kind == Kind::kCorrelation) {
    if (calls_[0].size() >= kCalls) {
      std::swap(calls_[0], calls_[1]);
      calls_[0].clear();
    }
    calls_[0][record.correlation] = record.job;
    return;
  }
  waiting_.push_back({.record = record, .name = record.name});
}

/// Writes the activities whose job is known, and those that have waited `rounds` times.
void CuptiCollector::Impl::settle(int rounds) {
  const std::lock_guard lock(records_);
  std::deque<Waiting> still;
  for (Waiting& activity : waiting_) {
    const std::int64_t job = jobOf(activity.record.correlation);
    if (job < 0 && activity.rounds < rounds) {
      ++activity.rounds;
      still.push_back(std::move(activity));
    } else {
      write(activity.record, activity.name, job);
    }
  }
  waiting_ = std::move(still);
}

std::int64_t CuptiCollector::Impl::jobOf(std::uint32_t correlation) const {
  for (const auto& calls : calls_) {
    if (const auto call = calls.find(correlation); call != calls.end()) return call->second;
  }
  return -1;
}

/// Null: it was removed. Work of no job goes into the first that is there.
CudaKernelLog* CuptiCollector::Impl::logOf(std::int64_t id) const {
  if (id >= 0) return logs_.at(static_cast<std::size_t>(id >> kJobBits));
  const auto first =
      std::find_if(logs_.begin(), logs_.end(), [](auto* log) { return log != nullptr; });
  return first != logs_.end() ? *first : nullptr;
}

void CuptiCollector::Impl::write(const CuptiRecord& record, const std::string& name,
                                 std::int64_t id) {
  CudaKernelLog* const log = logOf(id);
  if (log == nullptr) return;
  constexpr std::int64_t kJob = (std::int64_t{1} << kJobBits) - 1;
  log->append({.name = name,
               .begin = record.begin,
               .end = record.end,
               .stream = std::to_string(record.stream),
               .bytes = record.bytes,
               .job = id < 0 ? id : id & kJob});
}

namespace {

constexpr std::size_t kWriteSize = 64 * 1024;

}  // namespace

class CudaKernelLog::Impl {
 public:
  explicit Impl(std::string path) : file_(std::move(path)) {}
  ~Impl() { flush(); }
  void abandon() noexcept { file_.abandon(); }

  void append(const KernelLine& line) {
    const std::lock_guard lock(mutex_);
    writer_.setNow(line.end);
    writer_.append(lines_, line);
    ++waiting_;
    if (lines_.size() >= kWriteSize) writeOut();
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    writeOut();
  }
  std::int64_t written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  std::int64_t lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  void writeOut() {
    if (waiting_ == 0) return;
    const std::int64_t lost = file_.append(lines_);
    lost_ += lost;
    written_ += waiting_ - lost;
    waiting_ = 0;
    lines_.clear();
  }

  mutable std::mutex mutex_;
  LogFile file_;
  LogWriter writer_;
  std::string lines_;
  std::int64_t waiting_ = 0;
  std::int64_t written_ = 0;
  std::int64_t lost_ = 0;
};

CudaKernelLog::CudaKernelLog(std::string path) : impl_(std::in_place, std::move(path)) {}

CudaKernelLog::~CudaKernelLog() = default;

void CudaKernelLog::append(const KernelLine& line) {
  if (Impl* const impl = impl_.get()) impl->append(line);
}

void CudaKernelLog::flush() {
  if (Impl* const impl = impl_.get()) impl->flush();
}

std::int64_t CudaKernelLog::written() const {
  const Impl* const impl = impl_.get();
  return impl == nullptr ? 0 : impl->written();
}

std::int64_t CudaKernelLog::lost() const {
  const Impl* const impl = impl_.get();
  return impl == nullptr ? 0 : impl->lost();
}

}  // namespace pipetrace
