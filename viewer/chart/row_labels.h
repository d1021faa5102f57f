#pragma once

#include <QLineEdit>
#include <QWidget>
#include <optional>
#include <string>

#include "chart/chart_view.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

class ChartWidget;

/// The names of the chart's rows, at the left of them. One is the current row, which keys and
/// commands act on. A click on a triangle folds; dragging a name moves its row among its
/// neighbours; a right click and the menu key open the menu of the row's commands.
class RowLabels : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kGutter = 14;  ///< pixels for the triangle before each name

  explicit RowLabels(ChartWidget& chart);

  /// The current row, a node of the chart's tree; RowNode::kNone if there is none.
  std::size_t current() const;
  /// Makes a row the current one and scrolls to it.
  void setCurrent(std::size_t node);

  const ChartWidget& chart() const { return chart_; }

  /// The chart's rows have changed.
  void refresh();

 public slots:
  void foldOrUnfold();
  void pinOrUnpin();
  /// Moves the current row among its neighbours; down if `places` is positive.
  void moveCurrent(int places);
  void hideCurrent();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;

 private:
  /// A place between two rows: before or after a neighbour of the row that is dragged.
  struct Drop {
    std::size_t node = RowNode::kNone;
    bool isAfter = false;
    int y = 0;  // of the line that shows it
  };

  const RowTree* tree() const;
  /// The index of the row at `y` of the widget in the list of shown rows.
  std::optional<std::size_t> shownAt(int y) const;
  std::optional<std::size_t> shownIndexOf(std::size_t node) const;
  bool isOnTriangle(const ShownRow& row, int x) const;
  std::optional<Drop> dropAt(int y) const;
  /// Makes a row the current one, and scrolls nothing.
  void mark(std::size_t node);
  void fold(std::size_t node, bool isFolded);
  void moveTo(std::ptrdiff_t shown);
  void showTip(QPoint position, QPoint globalPosition);
  void paintTriangle(QPainter& painter, const RowInView& row) const;
  void paintMarks(QPainter& painter, const ChartView& view) const;

  ChartWidget& chart_;
  FontCache fonts_;
  std::string current_;                 // the key of the row
  std::optional<std::size_t> hovered_;  // a node
  std::optional<QPoint> pressedAt_;
  std::optional<Drop> drop_;
  bool isDragging_ = false;
};

/// The field above the row labels: the chart shows the rows that have its text in their names.
/// Enter goes to the labels; Esc clears it and goes to the chart.
class RowFilter : public QLineEdit {
  Q_OBJECT

 public:
  explicit RowFilter(ChartWidget& chart);
  /// Shows the filter of the chart's rows.
  void refresh();

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  ChartWidget& chart_;
};

}  // namespace pipetrace
