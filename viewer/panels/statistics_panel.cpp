#include "viewer/panels/statistics_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include "trace/text/decimal_time.h"

namespace pipetrace {

StatisticsPanel::StatisticsPanel(ChartWidget& chart)
    : chart_(chart),
      statistics_(chart),
      table_(statistics_),
      by_(new QComboBox),
      summary_(new QLabel),
      view_(new QTableView),
      histogram_(new HistogramView) {
  by_->addItems({tr("by kind"), tr("by stage"), tr("by rank"), tr("by bubble class")});
  by_->setAccessibleName(tr("Lines of the statistics"));
  view_->setModel(&table_);
  view_->setAccessibleName(tr("Statistics of the area"));
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setAlternatingRowColors(true);
  view_->setWordWrap(false);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  view_->horizontalHeader()->setHighlightSections(false);
  view_->horizontalHeader()->setMinimumSectionSize(fontMetrics().horizontalAdvance("000.00 ms") +
                                                   16);
  view_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view_->horizontalHeader()->setSortIndicator(StatisticsTable::kTime, Qt::DescendingOrder);
  view_->setSortingEnabled(true);
  layOut();
  connect(by_, &QComboBox::currentIndexChanged, this,
          [this](int by) { statistics_.setBy(static_cast<StatisticsBy>(by)); });
  connect(&statistics_, &AreaStatistics::sumsChanged, this, &StatisticsPanel::updateSums);
  connect(&statistics_, &AreaStatistics::percentilesChanged, this,
          &StatisticsPanel::updatePercentiles);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &StatisticsPanel::showHistogram);
}

void StatisticsPanel::layOut() {
  auto* copy = new QPushButton(tr("Copy as CSV"));
  copy->setToolTip(tr("Copy the table with times in nanoseconds (Ctrl+C)"));
  connect(copy, &QPushButton::clicked, this, &StatisticsPanel::copyCsv);
  auto* copyKey = new QAction(tr("Copy the statistics as CSV"), this);
  copyKey->setShortcut(QKeySequence::Copy);
  copyKey->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(copyKey, &QAction::triggered, this, &StatisticsPanel::copyCsv);
  addAction(copyKey);

  auto* head = new QHBoxLayout;
  head->setContentsMargins(8, 4, 8, 0);
  head->addWidget(by_);
  head->addWidget(summary_, 1);
  head->addWidget(copy);
  summary_->setContentsMargins(8, 0, 8, 0);
  summary_->setMinimumWidth(60);
  auto* split = new QSplitter;
  split->addWidget(view_);
  split->addWidget(histogram_);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 1);
  split->setChildrenCollapsible(false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addLayout(head);
  column->addWidget(split, 1);
}

QString StatisticsPanel::summary() const {
  const AreaSums* const sums = statistics_.sums();
  if (sums == nullptr) return {};
  const Nanoseconds length = sums->area.time.end - sums->area.time.begin;
  const std::size_t rows = chart_.area() ? chart_.area()->rows.size() : 0;
  const QString time = QString::fromStdString(formatDuration(length));
  QString text = rows == 1 ? tr("%1 in 1 row").arg(time) : tr("%1 in %2 rows").arg(time).arg(rows);
  if (sums->area.computeRows == 0) return text;
  const double whole =
      static_cast<double>(length) * static_cast<double>(sums->area.computeRows) / 100;
  text += tr(": busy %1 %, idle %2 %")
              .arg(static_cast<double>(sums->busy) / whole, 0, 'f', 1)
              .arg(static_cast<double>(sums->idle) / whole, 0, 'f', 1);
  return text;
}

void StatisticsPanel::updateSums() {
  const int row = view_->currentIndex().row();
  const QString selected = row >= 0 ? table_.nameOf(row) : QString();
  table_.updateSums();
  summary_->setText(summary());
  int again = 0;
  for (int i = 0; i < table_.rowCount(); ++i) {
    if (table_.nameOf(i) == selected) again = i;
  }
  view_->setCurrentIndex(table_.index(again, 0));
  showHistogram();
}

void StatisticsPanel::updatePercentiles() {
  table_.updatePercentiles();
  showHistogram();
}

void StatisticsPanel::showHistogram() {
  const int row = view_->currentIndex().row();
  if (row < 0 || row >= table_.rowCount()) return histogram_->show({}, nullptr);
  histogram_->show(table_.nameOf(row), table_.percentilesOf(row));
}

void StatisticsPanel::copyCsv() { QApplication::clipboard()->setText(table_.csv()); }

}  // namespace pipetrace
