#include "viewer/chart/row_filter.h"

#include <QKeyEvent>

#include "viewer/chart/chart_widget.h"
#include "viewer/chart/row_labels.h"

namespace pipetrace {

RowFilter::RowFilter(ChartWidget& chart) : QLineEdit(chart.viewport()), chart_(chart) {
  setPlaceholderText(tr("filter rows"));
  setClearButtonEnabled(true);
  setAccessibleName(tr("Filter rows"));
  setObjectName(QStringLiteral("row-filter"));
  setToolTip(
      tr("Shows the rows with this text in their names, such as rank 3, stage 1 or send.\n"
         "A comma separates texts of which one is enough."));
  QFont small = font();
  small.setPixelSize(11);
  setFont(small);
  connect(this, &QLineEdit::textChanged, this, [this](const QString& text) {
    RowState state = chart_.rowState();
    state.filter = text.toStdString();
    chart_.setRowState(std::move(state));
  });
}

void RowFilter::refresh() {
  const QString wanted = QString::fromStdString(chart_.rowState().filter);
  if (text() != wanted) setText(wanted);
}

bool RowFilter::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    event->accept();  // else it is the chart's
    return true;
  }
  return QLineEdit::event(event);
}

void RowFilter::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:
      clear();
      chart_.setFocus();
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Down: chart_.rowLabels()->setFocus(); return;
    default: QLineEdit::keyPressEvent(event);
  }
}

}  // namespace pipetrace
