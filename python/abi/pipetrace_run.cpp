#include "python/abi/pipetrace_run.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "python/abi/asked_run.h"
#include "trace/error.h"
#include "trace/text/fit_to_print.h"

using namespace pipetrace;

struct pipetrace_run {
  std::shared_ptr<AskedRun> run;
};

/// Its thread fills in the results before it sets `hasEnded`.
struct pipetrace_task {
  WorkProgress progress;
  std::stop_source stop;

  std::mutex mutex;
  std::condition_variable changed;
  bool hasEnded = false;

  std::string error;
  bool hasFailed = false;
  std::string text;
  bool hasText = false;
  std::string remarks;
  std::shared_ptr<AskedRun> run;
  std::shared_ptr<const Table> table;

  std::thread thread;
};

namespace {

constexpr int kBetweenLooks = 100;  // milliseconds

void failWith(pipetrace_task& task, const char* error) noexcept {
  task.hasFailed = true;
  try {
    task.error = fitToPrint(error);
  } catch (const std::bad_alloc&) {
    task.error.clear();  // so that it is an error all the same
  }
}

void run(pipetrace_task& task, const std::function<void(pipetrace_task&)>& work) noexcept {
  try {
    work(task);
  } catch (const std::bad_alloc&) {
    failWith(task, "memory ran out; steps and threads of load() need less");
  } catch (const std::exception& error) {
    failWith(task, error.what());
  }
  const std::lock_guard lock(task.mutex);
  task.hasEnded = true;
  task.changed.notify_all();
}

/// A task whose thread does the work; one that has failed where there is no thread.
pipetrace_task* started(std::function<void(pipetrace_task&)> work) noexcept {
  auto* const task = new (std::nothrow) pipetrace_task;
  if (task == nullptr) std::abort();  // a few hundred bytes
  try {
    task->thread = std::thread([task, work = std::move(work)] { run(*task, work); });
  } catch (const std::exception& error) {
    failWith(*task, error.what());
    task->hasEnded = true;
  }
  return task;
}

/// Holds the runs for a task, which may be one and the same or missing.
class HeldRuns {
 public:
  HeldRuns(AskedRun* one, AskedRun* other, const std::stop_token& stop) {
    if (other == one) other = nullptr;
    if (one == nullptr) std::swap(one, other);
    if (one != nullptr) first_ = std::unique_lock(one->mutex, std::defer_lock);
    if (other != nullptr) second_ = std::unique_lock(other->mutex, std::defer_lock);
    if (other != nullptr) {
      std::lock(first_, second_);
    } else if (one != nullptr) {
      first_.lock();
    }
    for (AskedRun* const each : {one, other}) {
      if (each != nullptr) each->loaded.run.endWhen(stop);
    }
  }

 private:
  std::unique_lock<std::mutex> first_;
  std::unique_lock<std::mutex> second_;
};

std::string joinedLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::shared_ptr<AskedRun> behind(pipetrace_run* run) { return run == nullptr ? nullptr : run->run; }

/// Waits for the end, and lets the caller look meanwhile.
void follow(pipetrace_task* task, pipetrace_run_progress progress, void* context) noexcept {
  while (pipetrace_task_wait(task, kBetweenLooks) == 0) {
    const char* what = "";
    std::int64_t done = 0;
    std::int64_t all = 0;
    pipetrace_task_progress(task, &what, &done, &all);
    if (progress != nullptr && progress(what, done, all, context) != 0) pipetrace_task_cancel(task);
  }
}

char* copyOf(const char* text, std::size_t length) noexcept {
  auto* const copy = static_cast<char*>(std::malloc(length + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

void giveError(pipetrace_task* task, char** error) noexcept {
  const char* const text = pipetrace_task_error(task);
  if (error != nullptr) *error = text == nullptr ? nullptr : copyOf(text, std::strlen(text));
}

}  // namespace

const char* pipetrace_run_version(void) noexcept { return PIPETRACE_VERSION; }

pipetrace_task* pipetrace_run_start_load(const char* options) noexcept {
  return started([given = std::string(options == nullptr ? "" : options)](pipetrace_task& task) {
    task.run = readRun(given.c_str(), task.progress, task.stop.get_token());
  });
}

pipetrace_task* pipetrace_run_start_ask(pipetrace_run* run, pipetrace_run* other,
                                        const char* question, const char* options) noexcept {
  return started([one = behind(run), two = behind(other),
                  asked = std::string(question == nullptr ? "" : question),
                  given = std::string(options == nullptr ? "" : options)](pipetrace_task& task) {
    const HeldRuns held(one.get(), two.get(), task.stop.get_token());
    Answer found = answer(asked, one.get(), two.get(), given.c_str(), task.progress);
    if (task.stop.stop_requested()) throw Error("the analysis was cancelled");
    task.text = std::move(found.text);
    task.remarks = joinedLines(found.remarks);
    task.hasText = true;
  });
}

pipetrace_task* pipetrace_run_start_table(pipetrace_run* run, const char* table) noexcept {
  return started(
      [one = behind(run), name = std::string(table == nullptr ? "" : table)](pipetrace_task& task) {
        if (one == nullptr) throw Error("a table is of a run, and there is none");
        const HeldRuns held(one.get(), nullptr, task.stop.get_token());
        task.table = tableOf(*one, name);
      });
}

int pipetrace_task_wait(pipetrace_task* task, int milliseconds) noexcept {
  std::unique_lock lock(task->mutex);
  const auto hasEnded = [task] { return task->hasEnded; };
  if (milliseconds < 0) {
    task->changed.wait(lock, hasEnded);
    return 1;
  }
  return task->changed.wait_for(lock, std::chrono::milliseconds(milliseconds), hasEnded) ? 1 : 0;
}

void pipetrace_task_cancel(pipetrace_task* task) noexcept {
  task->progress.reading.isCancelled = true;
  task->stop.request_stop();
}

void pipetrace_task_progress(pipetrace_task* task, const char** what, int64_t* done,
                             int64_t* all) noexcept {
  const WorkProgress& progress = task->progress;
  const WorkProgress::Doing doing = progress.doing;
  const bool reads = doing == WorkProgress::Doing::kReading;
  const bool tries = doing == WorkProgress::Doing::kTrying;
  const auto counted = [&](std::int64_t bytes, std::int64_t changes) {
    return reads ? bytes : tries ? changes : 0;
  };
  if (what != nullptr) *what = reads ? "reading" : tries ? "trying" : "";
  if (done != nullptr) *done = counted(progress.reading.bytesRead, progress.trying.tried);
  if (all != nullptr) *all = counted(progress.reading.bytesInAll, progress.trying.inAll);
}

const char* pipetrace_task_error(pipetrace_task* task) noexcept {
  return task->hasFailed ? task->error.c_str() : nullptr;
}

const char* pipetrace_task_text(pipetrace_task* task, size_t* length) noexcept {
  if (length != nullptr) *length = task->text.size();
  return task->hasText ? task->text.c_str() : nullptr;
}

const char* pipetrace_task_remarks(pipetrace_task* task) noexcept { return task->remarks.c_str(); }

pipetrace_run* pipetrace_task_take_run(pipetrace_task* task) noexcept {
  if (task->run == nullptr) return nullptr;
  return new (std::nothrow) pipetrace_run{std::move(task->run)};
}

int pipetrace_task_stream(pipetrace_task* task, ArrowArrayStream* stream) noexcept {
  if (task->table == nullptr) return -1;
  try {
    exportTable(task->table, stream);
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

void pipetrace_task_free(pipetrace_task* task) noexcept {
  if (task == nullptr) return;
  if (task->thread.joinable()) {
    pipetrace_task_cancel(task);  // nothing, where it has ended
    task->thread.join();
  }
  delete task;
}

void pipetrace_run_free(pipetrace_run* run) noexcept { delete run; }

pipetrace_run* pipetrace_run_load(const char* options, pipetrace_run_progress progress,
                                  void* context, char** error) noexcept {
  pipetrace_task* const task = pipetrace_run_start_load(options);
  follow(task, progress, context);
  giveError(task, error);
  pipetrace_run* const run = pipetrace_task_take_run(task);
  pipetrace_task_free(task);
  return run;
}

char* pipetrace_run_ask(pipetrace_run* run, pipetrace_run* other, const char* question,
                        const char* options, pipetrace_run_progress progress, void* context,
                        char** error) noexcept {
  pipetrace_task* const task = pipetrace_run_start_ask(run, other, question, options);
  follow(task, progress, context);
  giveError(task, error);
  std::size_t length = 0;
  const char* const text = pipetrace_task_text(task, &length);
  char* const copy = text == nullptr ? nullptr : copyOf(text, length);
  pipetrace_task_free(task);
  return copy;
}

int pipetrace_run_table(pipetrace_run* run, const char* table, ArrowArrayStream* stream,
                        pipetrace_run_progress progress, void* context, char** error) noexcept {
  pipetrace_task* const task = pipetrace_run_start_table(run, table);
  follow(task, progress, context);
  giveError(task, error);
  const int result = pipetrace_task_stream(task, stream);
  pipetrace_task_free(task);
  return result;
}

void pipetrace_run_free_text(char* text) noexcept { std::free(text); }
