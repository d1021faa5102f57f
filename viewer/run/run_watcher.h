#pragma once

#include <QObject>
#include <QThread>
#include <memory>

#include "analysis/causes/explanation.h"
#include "ingest/load_run.h"
#include "trace/diagnostic.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// Follows a run that goes on (RunFollower), on a thread of its own, and makes profiles of what it
/// has finished. Used on the GUI thread, which also gets its signals.
///
/// A profile holds the whole run so far. A new one is made when the last was taken, and rarely
/// enough that making them takes a third of the thread's time at most.
class RunWatcher : public QObject {
  Q_OBJECT

 public:
  explicit RunWatcher(QObject* parent = nullptr);
  /// Stops, and waits for the thread.
  ~RunWatcher() override;

  /// Starts to follow the request's inputs. Throws Error where they cannot grow
  /// (checkFollowable()). Stops what it followed before.
  void start(const RunRequest& request);
  /// Stops, without a signal.
  void stop();
  bool isRunning() const { return thread_ != nullptr; }

  /// The newest profile; null if none came since the last call.
  std::shared_ptr<const LoadedProfile> take();
  /// Frees a profile on the thread: a large one would hold up the GUI.
  void giveBack(std::shared_ptr<const LoadedProfile> profile);

 signals:
  /// There is a profile to take. Comes once until it is taken.
  void grew();
  /// The run waits for these logs: "ranks 2 and 3". Empty: all are there.
  void waitsFor(QString what);
  /// The reasons for the idle time of the last profile, after the run's end. Refers to it.
  void explained(std::shared_ptr<const pipetrace::Explanation> explanation);
  /// No more steps will come after the profile that may still wait. `error` is empty where the run
  /// is over, else says why it cannot be followed any more.
  void ended(QString error);

 private:
  struct Shared;
  class Voice;
  class Watch;
  std::shared_ptr<Shared> shared_;  // with the thread
  std::unique_ptr<QThread> thread_;
};

}  // namespace pipetrace
