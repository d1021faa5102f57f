#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "analysis/what_if/advice.h"
#include "viewer/run/loaded_profile.h"
#include "viewer/what_if/ground.h"

namespace pipetrace {

/// A preview, or why there is none. Stays as it is.
struct PreviewResult {
  WhatIfChanges changes;
  StepPreview preview;  ///< without a run where there is a problem
  QString problem;      ///< empty: there is a preview
};

/// An answer about the whole run, as `pipe-trace what-if` gives it, or why there is none. Stays as
/// it is.
struct AnswerResult {
  WhatIfChanges changes;
  WhatIfAnswer answer;                      ///< its run is in `run`
  std::shared_ptr<const PredictedRun> run;  ///< null: there is no answer
  QString problem;                          ///< empty: there is an answer
};

/// Predicts a run with changes, on threads of its own. Used on the GUI thread, which also gets its
/// signals. Work of a run that is no longer open ends soon; the destructor waits for it.
class WhatIfWork : public QObject {
  Q_OBJECT

 public:
  /// Previews of steps with more jobs come without classes of idle time, and again with them once
  /// no other was asked for.
  static constexpr std::size_t kManyJobs = 20'000;

  explicit WhatIfWork(QObject* parent = nullptr);
  ~WhatIfWork() override;

  /// Starts to prepare for a run; all work on the one before is given up. Null: there is none. The
  /// run must have been explained, as nobody may change it meanwhile.
  void open(std::shared_ptr<const LoadedProfile> profile);
  bool isOpen() const { return session_ != nullptr; }
  /// Null before grounded().
  std::shared_ptr<const WhatIfFacts> facts() const { return facts_; }

  /// Asks for the preview of these changes in place of those that were asked for before and have
  /// not begun.
  void preview(const WhatIfChanges& changes);
  /// Asks for the answer about these changes. Whatever was asked for before is given up.
  void answer(const WhatIfChanges& changes);
  /// Gives up the answer that is computed.
  void cancelAnswer();
  /// Whether an answer is computed.
  bool isAnswering() const { return answering_ != nullptr; }
  /// How far it is, from 0 to 1.
  double answerProgress() const;

  /// Looks for advice on the run, once.
  void advise();
  bool isAdvising() const { return advising_ != nullptr; }
  /// How many changes were tried, and how many there are; 0: not known.
  std::pair<std::int64_t, std::int64_t> adviceProgress() const;

 signals:
  /// What can be changed in the run is known.
  void grounded();
  /// Nothing can be predicted of the run.
  void refused(QString why);
  void previewed(std::shared_ptr<const pipetrace::PreviewResult> result);
  void answered(std::shared_ptr<const pipetrace::AnswerResult> result);
  void advised(std::shared_ptr<const pipetrace::AdviceList> advice);
  void adviceFailed(QString why);

 private:
  struct Session;
  struct Answering;
  struct Advising;
  struct Runner {
    std::shared_ptr<std::atomic<bool>> hasEnded;
    std::thread thread;
  };

  template <typename Work>
  void start(Work work);
  void joinEnded();
  void serve(const std::shared_ptr<Session>& session);
  void give(const std::shared_ptr<Session>& session, const WhatIfGround& ground,
            const WhatIfChanges& changes, bool withClasses);
  void answer(const std::shared_ptr<Session>& session, const std::shared_ptr<Answering>& work);
  void advise(const std::shared_ptr<Session>& session, const std::shared_ptr<Advising>& work);
  template <typename Then>
  void post(const std::shared_ptr<Session>& session, Then then);

  std::shared_ptr<Session> session_;
  std::shared_ptr<const WhatIfFacts> facts_;
  std::shared_ptr<Answering> answering_;
  std::shared_ptr<Advising> advising_;
  std::vector<Runner> runners_;
};

}  // namespace pipetrace
