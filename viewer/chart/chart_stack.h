#pragma once

#include <QSplitter>
#include <functional>
#include <vector>

#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// The main chart of a window, and below it, each in a pane of its own, charts of other runs that
/// are shown under it: at the same zoom, with the same rows, time axes and labels as wide. Moving,
/// folding or filtering one does so to all. On the GUI thread.
class ChartStack : public QSplitter {
  Q_OBJECT

 public:
  /// By how much later the times of a chart are than those of the main one above them. It is asked
  /// when the main chart has moved, while both have a model.
  using Offset = std::function<Nanoseconds()>;

  /// `main` becomes a child of it.
  explicit ChartStack(ChartWidget& main);
  ~ChartStack() override;

  ChartWidget& main() const { return main_; }
  /// Puts `head` above the main chart.
  void setHead(QWidget& head);
  /// Puts a pane, which may hold a chart for show(), below those that are there. It becomes a child
  /// and is hidden.
  void add(QWidget& pane);
  /// Shows `model` in `under`, a chart of ChartRole::kUnder in one of the panes. From then on both
  /// move as one, until clear() or until `under` goes. The main chart must have a model.
  void show(ChartWidget& under, const ChartModel& model, Offset offset);
  /// Takes the model from `under`, which nothing moves from then on.
  void clear(ChartWidget& under);
  /// Whether no chart is shown under the main one.
  bool isAlone() const { return under_.empty(); }
  /// Moves the others to where the main chart is: an offset is another one.
  void follow() { moveLike(main_); }
  /// Scrolls one chart to a row of its model; the rows of the others stay.
  void bringRowIntoView(ChartWidget& under, std::size_t row);

 private:
  struct Under {
    ChartWidget* chart;
    Offset offset;
  };

  Under* find(const ChartWidget& chart);
  void forget(const ChartWidget& chart);
  void moveLike(ChartWidget& from);
  void takeRowsOf(ChartWidget& from);
  void shareLabelWidth();
  void shareHeight();

  ChartWidget& main_;
  std::vector<Under> under_;
  bool isMoving_ = false;  // charts follow another
};

}  // namespace pipetrace
