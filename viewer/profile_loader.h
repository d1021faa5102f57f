#pragma once

#include <QObject>
#include <QStringList>
#include <QThread>
#include <memory>

#include "viewer/loaded_profile.h"

namespace pipetrace {

/// Reads profiles on a thread of its own. For the GUI thread, on which its signals come; at most
/// one profile is being read at a time. Destroying it waits for the one that is.
class ProfileLoader : public QObject {
  Q_OBJECT

 public:
  explicit ProfileLoader(QObject* parent = nullptr);
  ~ProfileLoader() override;

  /// Starts to read; ignored while isBusy().
  void load(const QStringList& inputs);
  bool isBusy() const { return thread_ != nullptr; }

 signals:
  void loaded(std::shared_ptr<const pipetrace::LoadedProfile> profile);
  /// `message` says what could not be done and what to try.
  void failed(QString message);

 private:
  std::unique_ptr<QThread> thread_;
};

}  // namespace pipetrace
