#include "viewer/run/profile_loader.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

/// One profile on its way. Its thread fills it in and hands it over in steps; the mutex guards what
/// is handed over.
struct ProfileLoader::Work {
  std::vector<std::string> inputs;
  AlignBy align = AlignBy::kBest;
  std::size_t stagedFrom = 0;
  bool isExplained = true;
  LoadProgress progress;
  std::stop_source stop;
  std::atomic<LoadStage> stage = LoadStage::kReading;
  std::atomic<bool> isWanted = true;
  std::atomic<bool> hasEnded = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<LoadedProfile> profile;
  std::optional<FoundBubbles> found;
  bool areBubblesTaken = false;
  std::shared_ptr<const Explanation> explanation;
  QString error;
};

ProfileLoader::ProfileLoader(QObject* parent) : QObject(parent) {}

ProfileLoader::~ProfileLoader() {
  stop();
  for (Runner& runner : runners_) runner.thread.join();
}

void ProfileLoader::load(const QStringList& inputs, AlignBy align) {
  drop(next_);
  joinEnded();
  next_ = std::make_shared<Work>();
  for (const QString& input : inputs) next_->inputs.push_back(input.toStdString());
  next_->align = align;
  next_->stagedFrom = stagedFrom_;
  next_->isExplained = explains_;
  runners_.push_back({next_, std::thread([this, work = next_] { run(work); })});
}

void ProfileLoader::cancel() { drop(next_); }

void ProfileLoader::stop() {
  drop(next_);
  drop(shown_);
}

ProfileLoader::Progress ProfileLoader::progress() const {
  const std::shared_ptr<Work>& work = next_ ? next_ : shown_;
  if (!work) return {};
  return {work->stage, work->progress.bytesRead, work->progress.bytesInAll};
}

/// Nobody waits for the work any more. Its thread ends as soon as it can.
void ProfileLoader::drop(std::shared_ptr<Work>& work) {
  if (!work) return;
  work->progress.isCancelled = true;
  work->stop.request_stop();
  {
    const std::lock_guard lock(work->mutex);
    work->isWanted = false;
  }
  work->changed.notify_all();
  work.reset();
}

void ProfileLoader::joinEnded() {
  std::erase_if(runners_, [](Runner& runner) {
    if (!runner.work->hasEnded) return false;
    runner.thread.join();
    return true;
  });
}

/// Calls `then` on the GUI thread, unless the work is dropped before.
void ProfileLoader::post(const std::shared_ptr<Work>& work, void (ProfileLoader::*then)(Work&)) {
  QMetaObject::invokeMethod(this, [this, work, then] {
    if (work == next_ || work == shown_) (this->*then)(*work);
  });
}

// The functions from here to run() are called on the work's own thread.

void ProfileLoader::read(Work& work) {
  auto profile =
      std::shared_ptr<LoadedProfile>(readProfile(work.inputs, work.align, &work.progress));
  if (profile->model().rows().empty()) {
    throw Error(
        "There are no jobs in it. Open the folder with the job logs of a run, or a profile that "
        "pipe-trace wrote.");
  }
  profile->endWhen(work.stop.get_token());
  const std::lock_guard lock(work.mutex);
  work.profile = std::move(profile);
}

/// Shows the profile and finds its bubbles. False: it has no use any more.
bool ProfileLoader::show(const std::shared_ptr<Work>& work) {
  const std::shared_ptr<LoadedProfile> profile = work->profile;
  const bool isStaged = profile->timeline().eventCount() >= work->stagedFrom;
  if (!work->isWanted) return false;
  if (isStaged) post(work, &ProfileLoader::takeProfile);
  work->stage = LoadStage::kClassifying;
  FoundBubbles found = findBubbles(*profile);
  {
    const std::lock_guard lock(work->mutex);
    if (isStaged) {
      work->found = std::move(found);
    } else {
      profile->add(std::move(found));
      work->areBubblesTaken = true;
    }
  }
  post(work, isStaged ? &ProfileLoader::takeBubbles : &ProfileLoader::takeProfile);
  return true;
}

/// Waits until the GUI thread has added the bubbles: nobody may read the profile meanwhile.
bool ProfileLoader::addBubbles(const std::shared_ptr<Work>& work) {
  std::unique_lock lock(work->mutex);
  work->changed.wait(lock, [&] { return work->areBubblesTaken || !work->isWanted; });
  return work->isWanted;
}

void ProfileLoader::run(const std::shared_ptr<Work>& work) {
  const auto fail = [&](const QString& why) {
    {
      const std::lock_guard lock(work->mutex);
      work->error = why;
    }
    post(work, &ProfileLoader::takeError);
  };
  try {
    read(*work);
    if (show(work) && addBubbles(work)) {
      std::shared_ptr<const Explanation> explanation;
      if (work->isExplained) {
        work->stage = LoadStage::kExplaining;
        explanation = std::make_shared<const Explanation>(work->profile->run(), ExplainOptions{});
      }
      work->profile->freeTables();
      {
        const std::lock_guard lock(work->mutex);
        work->explanation = std::move(explanation);
      }
      post(work, &ProfileLoader::takeExplanation);
    }
  } catch (const std::bad_alloc&) {
    fail(tr("not enough memory to open the profile; try fewer ranks or fewer steps"));
  } catch (const std::exception& error) {
    fail(QString::fromUtf8(error.what()));
  }
  if (!work->isWanted) {
    const std::lock_guard lock(work->mutex);
    work->explanation.reset();  // refers to the profile
    work->profile.reset();
  }
  work->stage = LoadStage::kDone;
  work->hasEnded = true;
}

// From here on: the GUI thread.

void ProfileLoader::takeProfile(Work& work) {
  std::shared_ptr<LoadedProfile> profile;
  {
    const std::lock_guard lock(work.mutex);
    profile = work.profile;
  }
  drop(shown_);
  shown_ = std::exchange(next_, nullptr);
  emit loaded(profile);
}

void ProfileLoader::takeBubbles(Work& work) {
  emit classifying();
  {
    const std::lock_guard lock(work.mutex);
    work.profile->add(std::move(*work.found));
    work.found.reset();
    work.areBubblesTaken = true;
  }
  work.changed.notify_all();
  emit classified();
}

void ProfileLoader::takeExplanation(Work& work) {
  std::shared_ptr<const Explanation> explanation;
  {
    const std::lock_guard lock(work.mutex);
    explanation = std::move(work.explanation);
    work.profile.reset();  // whoever shows it has it
  }
  emit explained(explanation);
}

void ProfileLoader::takeError(Work& work) {
  QString error;
  std::shared_ptr<LoadedProfile> profile;
  {
    const std::lock_guard lock(work.mutex);
    error = work.error;
    profile = work.profile;
  }
  if (next_.get() == &work) {
    drop(next_);
    emit failed(error);
    return;
  }
  if (profile && !profile->isClassified()) {
    profile->add({});  // it stays without bubbles
    emit classified();
  }
  emit explained(nullptr);
}

}  // namespace pipetrace
