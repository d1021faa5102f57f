#include "viewer/what_if/what_if_work.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <stop_token>
#include <utility>

#include "analysis/run/steps/median_step.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Without another change for so long, a preview gets its classes.
constexpr std::chrono::milliseconds kRest{250};

// As many jobs as simulations for advice have together in reports: seconds.
constexpr std::int64_t kMostAdviceJobs = 1'000'000;

/// Calls `work`; what it throws becomes a text.
template <typename Work>
QString problemOf(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::bad_alloc&) {
    return WhatIfWork::tr("not enough memory for a prediction");
  } catch (const std::exception& error) {
    return QString::fromUtf8(error.what());
  }
}

}  // namespace

/// A run that is open, with what its thread and the GUI thread hand each other.
struct WhatIfWork::Session {
  std::shared_ptr<const LoadedProfile> profile;
  std::stop_source stop;

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<WhatIfChanges> wanted;
  std::shared_ptr<const PreviewResult> result;  // that the GUI thread has not taken
};

struct WhatIfWork::Answering {
  WhatIfChanges changes;
  std::stop_source stop;
  WhatIfProgress progress;
};

struct WhatIfWork::Advising {
  AdviceProgress progress;
};

WhatIfWork::WhatIfWork(QObject* parent) : QObject(parent) {}

WhatIfWork::~WhatIfWork() {
  open(nullptr);
  for (Runner& runner : runners_) runner.thread.join();
}

template <typename Work>
void WhatIfWork::start(Work work) {
  joinEnded();
  auto hasEnded = std::make_shared<std::atomic<bool>>(false);
  runners_.push_back({hasEnded, std::thread([hasEnded, work = std::move(work)]() mutable {
                        {
                          // What it holds may be large: it goes before the thread counts as ended.
                          Work own = std::move(work);
                          own();
                        }
                        *hasEnded = true;
                      })});
}

void WhatIfWork::joinEnded() {
  std::erase_if(runners_, [](Runner& runner) {
    if (!*runner.hasEnded) return false;
    runner.thread.join();
    return true;
  });
}

/// Calls `then` on the GUI thread, unless the run is closed before.
template <typename Then>
void WhatIfWork::post(const std::shared_ptr<Session>& session, Then then) {
  QMetaObject::invokeMethod(this, [this, session, then = std::move(then)] {
    if (session == session_) then();
  });
}

void WhatIfWork::open(std::shared_ptr<const LoadedProfile> profile) {
  cancelAnswer();
  if (advising_) advising_->progress.isCancelled = true;
  advising_.reset();
  facts_.reset();
  if (session_) {
    session_->stop.request_stop();
    {
      const std::lock_guard lock(session_->mutex);
      session_->wanted.reset();
    }
    session_->changed.notify_all();
    session_.reset();
  }
  joinEnded();
  if (!profile) return;
  session_ = std::make_shared<Session>();
  session_->profile = std::move(profile);
  start([this, session = session_] { serve(session); });
}

void WhatIfWork::preview(const WhatIfChanges& changes) {
  if (!session_) return;
  {
    const std::lock_guard lock(session_->mutex);
    session_->wanted = changes;
  }
  session_->changed.notify_all();
}

/// Makes the ground, and then previews as they are asked for.
void WhatIfWork::serve(const std::shared_ptr<Session>& session) {
  std::unique_ptr<WhatIfGround> ground;
  const QString problem = problemOf([&] {
    ground = std::make_unique<WhatIfGround>(session->profile->run(), session->stop.get_token());
  });
  if (!ground) {
    if (!session->stop.stop_requested()) {
      post(session, [this, problem] { emit refused(problem); });
    }
    return;
  }
  post(session, [this, facts = std::make_shared<const WhatIfFacts>(ground->facts())] {
    facts_ = facts;
    emit grounded();
  });
  const bool isLarge = ground->facts().stepJobs > kManyJobs;
  WhatIfChanges changes;
  bool lacksClasses = false;  // the last preview
  while (true) {
    {
      std::unique_lock lock(session->mutex);
      const auto isAsked = [&] { return session->wanted || session->stop.stop_requested(); };
      if (lacksClasses) {
        session->changed.wait_for(lock, kRest, isAsked);
      } else {
        session->changed.wait(lock, isAsked);
      }
      if (session->stop.stop_requested()) return;
      const bool isNew = session->wanted.has_value();
      if (isNew) changes = *std::exchange(session->wanted, std::nullopt);
      lacksClasses = isNew && isLarge;
    }
    give(session, *ground, changes, !lacksClasses);
  }
}

/// Makes a preview and hands it over, in place of one that was not taken yet.
void WhatIfWork::give(const std::shared_ptr<Session>& session, const WhatIfGround& ground,
                      const WhatIfChanges& changes, bool withClasses) {
  auto result = std::make_shared<PreviewResult>();
  result->changes = changes;
  result->problem = problemOf([&] { result->preview = ground.preview(changes, withClasses); });
  {
    const std::lock_guard lock(session->mutex);
    if (std::exchange(session->result, std::move(result))) return;  // it is awaited already
  }
  post(session, [this, session] {
    std::shared_ptr<const PreviewResult> latest;
    {
      const std::lock_guard lock(session->mutex);
      latest = std::exchange(session->result, nullptr);
    }
    emit previewed(latest);
  });
}

void WhatIfWork::answer(const WhatIfChanges& changes) {
  cancelAnswer();
  if (!session_) return;
  answering_ = std::make_shared<Answering>();
  answering_->changes = changes;
  start([this, session = session_, work = answering_] { answer(session, work); });
}

void WhatIfWork::cancelAnswer() {
  if (answering_) answering_->stop.request_stop();
  answering_.reset();
}

double WhatIfWork::answerProgress() const {
  if (!answering_) return 0;
  return static_cast<double>(answering_->progress.done) / WhatIfProgress::kParts;
}

void WhatIfWork::answer(const std::shared_ptr<Session>& session,
                        const std::shared_ptr<Answering>& work) {
  auto result = std::make_shared<AnswerResult>();
  result->changes = work->changes;
  result->problem = problemOf([&] {
    WhatIfQuestion question = work->changes.question();
    question.progress = &work->progress;
    question.stop = work->stop.get_token();
    const LoadedProfile& profile = *session->profile;
    result->answer = whatIf(profile.run(), question);
    if (!result->answer.refusal.empty()) throw Error(result->answer.refusal);
    auto run = std::make_shared<PredictedRun>(std::exchange(result->answer.run, Run()));
    run->compareWith(profile.timeline(), profile.model().steps(), result->answer.isByModel,
                     medianStepOf(profile.run().summary(), profile.run().usualSteps()).step);
    result->run = std::move(run);
  });
  if (work->stop.stop_requested()) return;
  post(session, [this, work, result = std::move(result)] {
    if (work != answering_) return;
    answering_.reset();
    emit answered(result);
  });
}

void WhatIfWork::advise() {
  if (!session_ || advising_) return;
  advising_ = std::make_shared<Advising>();
  start([this, session = session_, work = advising_] { advise(session, work); });
}

std::pair<std::int64_t, std::int64_t> WhatIfWork::adviceProgress() const {
  if (!advising_) return {0, 0};
  return {advising_->progress.tried, advising_->progress.inAll};
}

void WhatIfWork::advise(const std::shared_ptr<Session>& session,
                        const std::shared_ptr<Advising>& work) {
  auto list = std::make_shared<AdviceList>();
  const QString problem = problemOf([&] {
    AdviceQuestion question;
    question.progress = &work->progress;
    question.mostJobs = kMostAdviceJobs;
    *list = adviceOn(session->profile->run(), question);
  });
  if (work->progress.isCancelled) return;
  post(session, [this, work, problem, list = std::shared_ptr<const AdviceList>(std::move(list))] {
    if (work != advising_) return;
    advising_.reset();
    if (problem.isEmpty()) {
      emit advised(list);
    } else {
      emit adviceFailed(problem);
    }
  });
}

}  // namespace pipetrace
