#pragma once

#include <QObject>
#include <QStringList>
#include <QThread>
#include <memory>

#include "viewer/loaded_profile.h"

namespace pipetrace {

/// Reads profiles on a thread of its own, one at a time. Used on the GUI thread, which also gets
/// its signals. The destructor waits for a profile that is being read.
class ProfileLoader : public QObject {
  Q_OBJECT

 public:
  explicit ProfileLoader(QObject* parent = nullptr);
  ~ProfileLoader() override;

  /// Starts loadProfile(); ignored while isBusy().
  void load(const QStringList& inputs, AlignBy align);
  bool isBusy() const { return thread_ != nullptr; }

 signals:
  void loaded(std::shared_ptr<const pipetrace::LoadedProfile> profile);
  /// `message` says what failed and what to try.
  void failed(QString message);

 private:
  std::unique_ptr<QThread> thread_;
};

}  // namespace pipetrace
