#include "viewer/profile_loader.h"

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

}  // namespace

ProfileLoader::ProfileLoader(QObject* parent) : QObject(parent) {}

ProfileLoader::~ProfileLoader() {
  if (thread_) thread_->wait();
}

void ProfileLoader::load(const QStringList& inputs, AlignBy align) {
  if (isBusy()) return;
  auto outcome = std::make_shared<Outcome>();
  thread_.reset(QThread::create([outcome, inputs, align] { *outcome = read(inputs, align); }));
  connect(thread_.get(), &QThread::finished, this, [this, outcome] {
    thread_->wait();
    thread_.reset();
    if (outcome->profile) {
      emit loaded(outcome->profile);
    } else {
      emit failed(outcome->error);
    }
  });
  thread_->start();
}

}  // namespace pipetrace
