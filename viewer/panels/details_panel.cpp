#include "viewer/panels/details_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QVBoxLayout>

#include "trace/text/decimal_time.h"
#include "viewer/causes/detail_rows.h"

namespace pipetrace {
namespace {

/// Makes a line look like a link.
void showAsLink(QTreeWidgetItem& item, bool isStrong, const QWidget& panel) {
  QFont font = panel.font();
  font.setBold(isStrong);
  font.setUnderline(true);
  item.setFont(1, font);
  item.setForeground(1, panel.palette().link());
}

}  // namespace

DetailsPanel::DetailsPanel(ChartWidget& chart, Causes& causes)
    : chart_(chart),
      causes_(causes),
      fields_(new QTreeWidget),
      goToCulprit_(new QPushButton(tr("Go to the culprit (C)"))),
      goBack_(new QPushButton(tr("Back to the bubble (Shift+C)"))) {
  fields_->setHeaderHidden(true);
  fields_->setColumnCount(2);
  fields_->setRootIsDecorated(false);
  fields_->setAlternatingRowColors(true);
  fields_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  fields_->setTextElideMode(Qt::ElideRight);
  fields_->setAccessibleName(tr("Details of the selection"));
  fields_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(fields_);
  for (QPushButton* button : {goToCulprit_, goBack_}) {
    button->setFocusPolicy(Qt::NoFocus);  // the chart keeps the keys
    column->addWidget(button);
  }
  auto* copy = new QAction(tr("Copy"), fields_);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  fields_->addAction(copy);
  fields_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(copy, &QAction::triggered, this, &DetailsPanel::copy);
  connect(fields_, &QTreeWidget::itemClicked, this, &DetailsPanel::go);
  connect(fields_, &QTreeWidget::itemActivated, this, &DetailsPanel::go);
  connect(goToCulprit_, &QPushButton::clicked, &chart_, &ChartWidget::showCulprit);
  connect(goBack_, &QPushButton::clicked, &chart_, &ChartWidget::showBubble);
  connect(&causes_, &Causes::changed, this, &DetailsPanel::update);
  update();
}

void DetailsPanel::update() {
  fields_->clear();
  links_.clear();
  summary_.clear();
  goToCulprit_->setVisible(chart_.culprit().has_value());
  goBack_->setVisible(chart_.hasBubble());
  const auto& selection = chart_.selection();
  if (!selection) {
    new QTreeWidgetItem(fields_, {tr("Click a job or a bubble to see what is known about it.")});
    fields_->setFirstColumnSpanned(0, {}, true);
    return;
  }
  for (const DetailRow& row : detailRows(chart_, causes_, *selection)) {
    auto* item = new QTreeWidgetItem(fields_, {row.name, row.value});
    item->setToolTip(1, (row.tooltip.isEmpty() ? row.value : row.tooltip).toHtmlEscaped());
    if (row.link) showAsLink(*item, row.isStrong, *fields_);
    links_.push_back(row.link);
  }
  summary_ = fields_->topLevelItem(0)->text(1) + ", " +
             QString::fromStdString(formatDuration(selection->event->duration()));
}

void DetailsPanel::go(QTreeWidgetItem* item) {
  const int line = fields_->indexOfTopLevelItem(item);
  if (line < 0 || static_cast<std::size_t>(line) >= links_.size()) return;
  const auto link = links_[static_cast<std::size_t>(line)];
  const bool wasMany = fields_->selectedItems().size() > 1;  // lines that are chosen to be copied
  if (!link || wasMany) return;
  // Later: the lines are replaced, and the tree is not done with this one.
  QMetaObject::invokeMethod(
      this, [this, link = *link] { causes_.goTo(link); }, Qt::QueuedConnection);
}

void DetailsPanel::copy() {
  const bool areSome = !fields_->selectedItems().isEmpty();
  QStringList lines;
  for (int i = 0; i < fields_->topLevelItemCount(); ++i) {
    const QTreeWidgetItem* item = fields_->topLevelItem(i);
    if (!areSome || item->isSelected()) lines.push_back(item->text(0) + "\t" + item->text(1));
  }
  QApplication::clipboard()->setText(lines.join('\n'));
}

}  // namespace pipetrace
