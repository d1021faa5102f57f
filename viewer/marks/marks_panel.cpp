#include "viewer/marks/marks_panel.h"

#include <QAction>
#include <QCursor>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <utility>

#include "trace/text/decimal_time.h"
#include "trace/text/display_name.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

enum MarkColumn { kNoteText, kNoteTime, kNoteWhere, kNoteColumns };

class MarksOverlay : public ChartOverlay {
 public:
  /// `marks` must live as long as the overlay paints.
  explicit MarksOverlay(const Marks& marks) : marks_(marks) {}

  void paint(QPainter& painter, const ChartView& view) override {
    painter.save();
    QtCanvas canvas(painter, fonts_);
    drawMarks(canvas, view, marks_.list());
    painter.restore();
  }

 private:
  const Marks& marks_;
  FontCache fonts_;
};

/// The event that a mark is at; null where there is none.
const Event* markedEvent(const ChartRow& row, const ChartMark& mark) {
  for (const auto* lanes : {&row.lanes, &row.bubbles}) {
    for (const LaneIndex& lane : *lanes) {
      for (std::size_t i = lane.firstBeginningAt(mark.begin);
           i < lane.size() && lane.beginOf(i) == mark.begin; ++i) {
        if (lane.endOf(i) == mark.end) return &lane[i];
      }
    }
  }
  return nullptr;
}

}  // namespace

MarksPanel::MarksPanel(ChartWidget& chart) : chart_(chart), list_(new QTreeWidget) {
  list_->setColumnCount(kNoteColumns);
  list_->setHeaderLabels({tr("Note"), tr("Time"), tr("Where")});
  list_->setAccessibleName(tr("Marks and notes"));
  list_->setRootIsDecorated(false);
  list_->setAlternatingRowColors(true);
  list_->setUniformRowHeights(true);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  list_->header()->setSectionResizeMode(kNoteText, QHeaderView::Stretch);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(list_);
  auto* removeKey = new QAction(tr("Remove the mark"), this);
  removeKey->setShortcut(QKeySequence::Delete);
  removeKey->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(removeKey, &QAction::triggered, this, &MarksPanel::removeChosen);
  list_->addAction(removeKey);
  connect(list_, &QTreeWidget::itemActivated, this, &MarksPanel::go);
  connect(list_, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem* item, int changed) {
    if (isFilling_ || changed != kNoteText) return;
    isFilling_ = true;  // the line is there, and its field still closes
    marks_.setText(indexOf(item), item->text(kNoteText).trimmed());
    isFilling_ = false;
    chart_.viewport()->update();
  });
  connect(&marks_, &Marks::changed, this, &MarksPanel::fill);
  chart.addOverlay(std::make_unique<MarksOverlay>(marks_));
  auto* mark = new QAction(tr("Set a mark with a note"), &chart);
  mark->setObjectName(QStringLiteral("mark"));
  mark->setData(static_cast<int>(CommandMenu::kEdit));
  mark->setShortcut(Qt::Key_M);
  connect(mark, &QAction::triggered, this, &MarksPanel::markHere);
  chart.addAction(mark);
  fill();
}

int MarksPanel::indexOf(const QTreeWidgetItem* item) const {
  return list_->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(item));
}

void MarksPanel::fill() {
  if (isFilling_) return;
  const int current = indexOf(list_->currentItem());
  isFilling_ = true;
  list_->clear();
  const Nanoseconds origin = chart_.model() == nullptr ? 0 : chart_.model()->span().begin;
  for (const ChartMark& mark : marks_.list()) {
    auto* item = new QTreeWidgetItem(list_);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable);
    item->setText(kNoteText, QString::fromStdString(mark.text));
    item->setText(kNoteTime, QString::fromStdString(formatDuration(mark.begin - origin)));
    QString where = tr("all ranks");
    if (mark.isOfEvent()) {
      where = tr("rank %1, %2").arg(mark.rank).arg(QString::fromStdString(mark.lane));
      const auto row = chart_.model() == nullptr ? std::nullopt : rowOf(*chart_.model(), mark);
      const Event* event = row ? markedEvent(chart_.model()->rows()[*row], mark) : nullptr;
      if (event != nullptr) {
        where += ": " + QString::fromStdString(displayName(chart_.model()->timeline(), *event));
      }
    }
    item->setText(kNoteWhere, where);
  }
  isFilling_ = false;
  if (list_->topLevelItemCount() > 0) {
    list_->setCurrentItem(
        list_->topLevelItem(std::clamp(current, 0, list_->topLevelItemCount() - 1)));
  }
  chart_.viewport()->update();
}

void MarksPanel::markHere() {
  if (chart_.model() == nullptr) return;
  ChartMark mark;
  if (const auto& selected = chart_.selection()) {
    const ChartRow& row = chart_.model()->rows()[selected->row];
    mark = {selected->event->begin, selected->event->end, row.rank, row.lane, {}};
  } else {
    const ChartView view = chart_.view();
    const QPoint cursor = chart_.viewport()->mapFromGlobal(QCursor::pos());
    const bool isOver =
        chart_.viewport()->underMouse() && view.area.contains(cursor.x(), cursor.y());
    const int x = isOver ? cursor.x() - view.area.x : view.area.width / 2;
    mark.begin = mark.end = view.axis.timeAt(x);
  }
  const int index = marks_.add(std::move(mark));
  emit wanted();
  QTreeWidgetItem* item = list_->topLevelItem(index);
  list_->setFocus();
  list_->setCurrentItem(item);
  list_->editItem(item, kNoteText);
}

void MarksPanel::go(QTreeWidgetItem* item) {
  const int index = indexOf(item);
  if (index < 0 || chart_.model() == nullptr) return;
  const ChartMark mark = marks_.list()[static_cast<std::size_t>(index)];
  const auto row = rowOf(*chart_.model(), mark);
  const Event* event = row ? markedEvent(chart_.model()->rows()[*row], mark) : nullptr;
  if (event != nullptr) {
    return chart_.goTo({.row = *row, .event = event, .count = 1, .load = {}, .span = 0});
  }
  chart_.showInstant(mark.begin);
  if (row) chart_.showRow(*row);
}

void MarksPanel::removeChosen() { marks_.remove(indexOf(list_->currentItem())); }

}  // namespace pipetrace
