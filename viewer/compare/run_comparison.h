#pragma once

#include <QObject>
#include <QStringList>
#include <atomic>
#include <memory>
#include <optional>

#include "analysis/diff/comparison.h"
#include "viewer/compare/job_twins.h"
#include "viewer/panels/area_statistics.h"
#include "viewer/run/loaded_profile.h"
#include "viewer/run/profile_loader.h"

namespace pipetrace {

/// What `pipe-trace diff` says of two runs.
struct ComparedRuns {
  std::optional<Comparison> how;  ///< nothing: they cannot be measured
  /// The answer, the runs, and what the answer rests on, in the words of diffText(); then the
  /// reasons with their times. Where there is no `how`, why.
  QStringList sentences;
};

/// Compares two runs. All parts of both must be there, or be makable. Throws nothing.
ComparedRuns compareRuns(const LoadedProfile& a, const LoadedProfile& b);

/// A run B that is read and compared with a run A, on threads of its own. Used on the GUI thread,
/// which also gets its signals.
class RunComparison : public QObject {
  Q_OBJECT

 public:
  enum class Stage : std::uint8_t {
    kNone,     ///< there is no B
    kReading,  ///< B has no picture yet
    kWaiting,  ///< B is drawn; what comparing needs of A or B is not there yet
    kComparing,
    kDone
  };

  explicit RunComparison(QObject* parent = nullptr);
  ~RunComparison() override;

  /// Reads B in place of the one before. `align`: as for loadProfile().
  void open(const QStringList& inputs, AlignBy align);
  /// Gives B up, whatever its stage, without a wait.
  void close();
  /// The run A, or null. Another one in its place: B goes.
  void setA(std::shared_ptr<const LoadedProfile> a);
  /// A's parts are all there, and nobody changes them any more.
  void setReadyA();

  Stage stage() const { return stage_; }
  const ProfileLoader& loader() const { return loader_; }
  const LoadedProfile* a() const { return a_.get(); }
  /// Null before Stage::kWaiting.
  const LoadedProfile* b() const { return b_.get(); }
  std::shared_ptr<const LoadedProfile> sharedB() const { return b_; }
  /// Null before Stage::kDone.
  const ComparedRuns* result() const { return result_.get(); }

  /// Looks for twins in these steps, one of each run, from now on. Those of other steps go.
  void setSteps(const StepSpan& a, const StepSpan& b);
  /// Null while they are looked for.
  const JobTwins* twins() const { return twins_.get(); }

 signals:
  /// The stage is another one. B's profile must be let go where b() is null.
  void stageChanged();
  /// B has got its bubbles: they are added between these two.
  void classifying();
  void classified();
  void twinsChanged();
  /// B could not be read; the stage is kNone.
  void failed(QString message);

 private:
  void setStage(Stage stage);
  void compareOnceReady();
  void findTwins();

  std::shared_ptr<const LoadedProfile> a_;
  std::shared_ptr<const LoadedProfile> b_;
  std::shared_ptr<const ComparedRuns> result_;
  std::shared_ptr<const JobTwins> twins_;
  std::optional<StepSpan> stepOfA_;
  std::optional<StepSpan> stepOfB_;
  Stage stage_ = Stage::kNone;
  bool isReadyA_ = false;
  bool isReadyB_ = false;
  std::uint64_t asked_ = 0;       // number of the latest comparison
  std::uint64_t askedTwins_ = 0;  // and of the latest search for twins
  ProfileLoader loader_;
  LatestWork twinsWork_;  // the last members, so that they stop first
  LatestWork work_;
};

}  // namespace pipetrace
