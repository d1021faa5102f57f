#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QSize>
#include <QString>
#include <QTimer>
#include <optional>
#include <vector>

#include "chart/chart_hit.h"
#include "chart/chart_model.h"
#include "chart/chart_view.h"
#include "chart/rows/row_state.h"

namespace pipetrace {

/// Where a chart looks and what is selected in it: all that undoing brings back. The selection
/// refers to the chart's model.
struct ViewState {
  Nanoseconds begin = 0;  ///< of the time in view
  Nanoseconds end = 0;
  bool isFitted = true;  ///< the whole run, also when the run grows
  int scrollY = 0;       ///< pixels
  std::optional<ChartHit> selection;
  std::optional<ChartArea> area;
  RowState rows;

  bool hasSelectionOf(const ViewState& other) const {
    if (!selection || !other.selection) return selection.has_value() == other.selection.has_value();
    return selection->event == other.selection->event && selection->row == other.selection->row;
  }
  bool hasTimeOf(const ViewState& other) const { return begin == other.begin && end == other.end; }
  bool operator==(const ViewState& other) const {
    return hasTimeOf(other) && scrollY == other.scrollY && area == other.area &&
           rows == other.rows && hasSelectionOf(other);
  }
};

class ChartWidget;

/// The views that a chart had, to go back to. Each key, click or drag makes one entry, and so
/// does a burst of turns of the wheel. A model of another run begins a new history. On the GUI
/// thread.
class ViewHistory : public QObject {
  Q_OBJECT

 public:
  /// Watches `chart`, which must outlive it.
  explicit ViewHistory(ChartWidget& chart);

  /// Says what undo() takes back: "zoom", "move", "selection", "change of rows"; empty if there is
  /// nothing.
  QString undoText() const;
  /// Says what redo() brings back.
  QString redoText() const;
  /// The chart has another model of the same run, and `old` still lives: the entries stay.
  void followModel(const ChartModel& old);

 public slots:
  void undo();
  void redo();
  /// Takes back the last zoom or move. The selection stays as it is.
  void undoView();

 signals:
  /// The texts have changed.
  void changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  enum class Change { kZoom, kMove, kSelection, kRows };
  static bool isOfTime(Change change) { return change == Change::kZoom || change == Change::kMove; }
  struct Entry {
    ViewState state;  // before the change; in redo_ after it
    Change change;
  };
  static QString textOf(const std::vector<Entry>& entries);

  void record();
  bool joinsLast(Change change) const;
  void show(const ViewState& state);
  void moveLast(std::vector<Entry>& from, std::vector<Entry>& to);

  ChartWidget& chart_;
  const ChartModel* model_ = nullptr;
  QSize size_;
  ViewState current_;
  std::vector<Entry> undo_;
  std::vector<Entry> redo_;
  QTimer record_;
  QElapsedTimer sinceLast_;
  bool isPressed_ = false;    // a button of the mouse is down
  bool isSamePress_ = false;  // and was when the last entry was made
};

}  // namespace pipetrace
