#include "profiler/nccl/recording.h"

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "profiler/nccl/plugin.h"
#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

/// "AllReduce" -> "all_reduce", as the log spells NCCL's functions.
std::string typeOf(std::string_view function) {
  if (function.empty()) return "nccl";
  if (function == "AlltoAll") return "all_to_all";
  std::string type;
  for (const char c : function) {
    const bool isUpper = c >= 'A' && c <= 'Z';
    if (isUpper && !type.empty()) type += '_';
    type += isUpper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return type;
}

}  // namespace

NcclRecording::NcclRecording(Recorder& recorder)
    : recorder_(recorder), inForkedChild_([this] { abandon(); }) {
  if (!recorder.isOn()) {
    trouble_ = "the recorder is off";
    return;
  }
  try {
    file_ = std::make_unique<LogFile>(recorder.logPath());
  } catch (const Error& error) {
    trouble_ = error.what();
    std::fprintf(stderr, "pipetrace: NCCL is not recorded: %s\n", error.what());
    return;
  }
  lostBefore_ = ncclEvents().lost();
  if (!attachNccl(*this)) trouble_ = "another recorder of this process writes what NCCL does";
}

NcclRecording::~NcclRecording() {
  if (!isRunning()) return;
  detachNccl(*this);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  flush(true);
  const std::int64_t lost = ncclEvents().lost() - lostBefore_ + unwritten_;
  if (lost > 0) {
    std::fprintf(stderr, "pipetrace: %lld operations of NCCL are not in %s: %s\n",
                 static_cast<long long>(lost), file_->path().c_str(),
                 unwritten_ > 0 ? "it could not be written" : "there were too many at a time");
  }
}

void NcclRecording::abandon() noexcept {
  if (!isRunning()) return;
  trouble_ = "forked";
  abandonNccl(*this);
  file_->abandon();
  // The thread does not exist here, and nobody would release its locks. So new objects replace the
  // old ones, which are not destroyed.
  std::construct_at(&thread_);
  std::construct_at(&wake_);
  std::construct_at(&mutex_);
  std::construct_at(&writing_);
}

void NcclRecording::begin() {
  const std::lock_guard lock(mutex_);
  if (stop_ || thread_.joinable()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's handlers run on its own threads
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void NcclRecording::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::nanoseconds(kEvery), [&] { return stop_; })) {
    lock.unlock();
    flush();
    lock.lock();
  }
}

void NcclRecording::flush(bool all) {
  const std::lock_guard lock(writing_);
  if (!isRunning()) return;
  const Nanoseconds now = monotonicNow();
  ncclEvents().take(now, all, operations_);
  if (operations_.empty()) return;
  writer_.setNow(recorder_.clock().at(now));
  std::string lines;
  for (const NcclOperation& operation : operations_) write(operation, lines);
  unwritten_ += file_->append(lines);
  operations_.clear();
}

void NcclRecording::write(const NcclOperation& operation, std::string& lines) {
  const bool isTimed = operation.begin != 0 && operation.end >= operation.begin;
  const std::string type = typeOf(operation.function.data());
  std::array<char, 16> id{};
  char* const end = std::to_chars(id.data(), id.data() + id.size(), operation.communicator, 16).ptr;
  // A peer is a rank of the communicator. That is a rank of the run if the communicator holds all
  // ranks.
  const bool isWhole = recorder_.info().worldSize == operation.ranks;
  const WallClock& clock = recorder_.clock();
  writer_.append(
      lines, NcclLine{.what = {.type = type,
                               .begin = clock.at(isTimed ? operation.begin : operation.called),
                               .end = clock.at(isTimed ? operation.end : operation.queued),
                               .stream = log_format::kNcclLane,
                               .peer = isWhole ? operation.peer : kNotGiven,
                               .bytes = operation.bytes,
                               .job = operation.job},
                      .isTimed = isTimed,
                      .communicator =
                          std::string_view(id.data(), static_cast<std::size_t>(end - id.data())),
                      .communicatorPeer = isWhole ? kNotGiven : operation.peer,
                      .sequence = operation.sequence,
                      .algorithm = operation.algorithm.data(),
                      .protocol = operation.protocol.data()});
}

}  // namespace pipetrace
