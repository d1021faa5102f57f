#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <memory>
#include <optional>

#include "chart/search/job_search.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// Looks for jobs in a chart, in slices between other events of the window, and marks those that
/// match. Another model is searched for the same query. A child of the chart; on the GUI thread.
class ChartSearch : public QObject {
  Q_OBJECT

 public:
  explicit ChartSearch(ChartWidget& chart);

  /// Looks for `query` (parseQuery()), instead of what it looked for before. An empty one ends the
  /// search.
  void start(const QString& query);
  const QString& query() const { return query_; }
  /// Own times of jobs that are not their durations, for `own:` (UsualTimes); null: there are none.
  /// Searches again.
  void setOwnTimes(std::shared_ptr<const JobOwnTimes> own);
  /// The model that is searched; null without one.
  const ChartModel* model() const { return model_; }
  /// Says what is wrong with the query; empty if it is fine.
  const QString& problem() const { return problem_; }
  /// Whether there are events yet to look at.
  bool isBusy() const { return slices_.isActive(); }
  /// The matches so far; null without a search.
  const MatchList* matches() const;
  std::size_t count() const;
  /// The number of the match that next() or previous() went to, from 1; 0: none yet.
  std::size_t current() const;

 public slots:
  /// Goes to the next match after the last one that it went to, else to the first one in view or
  /// after it. After the last match comes the first. Waits for a match of a search that goes on.
  void next();
  void previous();
  /// Goes to the first match of the run once the search is done, also if that is in a later model.
  void goToFirst();
  void clear() { start({}); }

 signals:
  /// Something of the above has changed.
  void changed();

 private:
  void restart();
  void look();
  void findCurrent();
  void goTo(const std::optional<MatchPlace>& place);

  ChartWidget& chart_;
  const ChartModel* model_ = nullptr;
  QString query_;
  QString problem_;
  std::shared_ptr<const JobOwnTimes> own_;
  std::shared_ptr<const UsualTimes> usual_;  // of the model; once a query asks for it
  std::unique_ptr<JobSearch> search_;
  std::optional<MatchPlace> current_;
  bool isFirstWanted_ = false;
  bool isNextWanted_ = false;  // as soon as there is a match
  std::size_t reported_ = 0;   // matches when changed() came last
  QTimer slices_;
  QElapsedTimer sinceChanged_;
};

}  // namespace pipetrace
