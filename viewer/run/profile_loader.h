#pragma once

#include <QObject>
#include <QStringList>
#include <QThread>
#include <memory>

#include "analysis/explain/explanation.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// Reads profiles on a thread of its own, one at a time, and explains them. Used on the GUI thread,
/// which also gets its signals. The destructor waits for the thread.
class ProfileLoader : public QObject {
  Q_OBJECT

 public:
  explicit ProfileLoader(QObject* parent = nullptr);
  ~ProfileLoader() override;

  /// Starts loadProfile(); ignored while isBusy().
  void load(const QStringList& inputs, AlignBy align);
  /// Whether a profile is being read. One that is only being explained does not count: the next
  /// load() waits for its end.
  bool isBusy() const { return isReading_; }

 signals:
  void loaded(std::shared_ptr<const pipetrace::LoadedProfile> profile);
  /// Comes some time after loaded(), unless another profile was asked for. Refers to the profile.
  /// Null where the run cannot be explained.
  void explained(std::shared_ptr<const pipetrace::Explanation> explanation);
  /// `message` says what failed and what to try.
  void failed(QString message);

 private:
  void finishReading();

  struct Work;
  std::shared_ptr<Work> work_;  // of the thread
  std::unique_ptr<QThread> thread_;
  bool isReading_ = false;
};

}  // namespace pipetrace
