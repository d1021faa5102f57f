#include "viewer/run/profile_loader.h"

#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace pipetrace {
namespace {

struct Outcome {
  std::shared_ptr<const LoadedProfile> profile;
  QString error;  // empty: there is a profile
};

Outcome read(const QStringList& inputs, AlignBy align) {
  std::vector<std::string> paths;
  for (const QString& input : inputs) paths.push_back(input.toStdString());
  try {
    return {loadProfile(paths, align), {}};
  } catch (const std::bad_alloc&) {
    return {nullptr, QStringLiteral("not enough memory to open the profile; try fewer ranks or "
                                    "fewer steps")};
  } catch (const std::exception& error) {
    return {nullptr, QString::fromUtf8(error.what())};
  }
}

/// Null where the run cannot be explained: the profile is shown all the same.
std::shared_ptr<const Explanation> explanationOf(const LoadedProfile& profile) {
  try {
    return std::make_shared<const Explanation>(
        explainRun(profile.timeline(), {.steps = {}, .threads = 0}));
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

struct ProfileLoader::Work {
  Outcome outcome;
  std::shared_ptr<const Explanation> explanation;
  std::atomic<bool> isWanted = true;
};

ProfileLoader::ProfileLoader(QObject* parent) : QObject(parent) {}

ProfileLoader::~ProfileLoader() {
  if (work_) work_->isWanted = false;
  if (thread_) thread_->wait();
}

void ProfileLoader::load(const QStringList& inputs, AlignBy align) {
  if (isBusy()) return;
  if (thread_) {
    work_->isWanted = false;
    thread_->disconnect(this);
    thread_->wait();
  }
  isReading_ = true;
  work_ = std::make_shared<Work>();
  const auto work = work_;
  thread_.reset(QThread::create([this, work, inputs, align] {
    work->outcome = read(inputs, align);
    QMetaObject::invokeMethod(this, [this, work] {
      if (work == work_) finishReading();
    });
    if (work->outcome.profile && work->isWanted) {
      work->explanation = explanationOf(*work->outcome.profile);
    }
  }));
  connect(thread_.get(), &QThread::finished, this, [this, work] {
    if (work == work_ && work->outcome.profile) emit explained(work->explanation);
  });
  thread_->start();
}

void ProfileLoader::finishReading() {
  isReading_ = false;
  if (work_->outcome.profile) {
    emit loaded(work_->outcome.profile);
  } else {
    emit failed(work_->outcome.error);
  }
}

}  // namespace pipetrace
