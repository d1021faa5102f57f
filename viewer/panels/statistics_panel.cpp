#include "viewer/panels/statistics_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QFont>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

struct ColumnWords {
  const char* title;
  const char* help;
  const char* csv;
};

constexpr std::array<ColumnWords, StatisticsTable::kColumns> kWords = {{
    {"", "", ""},
    {QT_TR_NOOP("Count"), QT_TR_NOOP("events that are at least partly in the area"), "count"},
    {QT_TR_NOOP("Own"),
     QT_TR_NOOP("of the events, without the events that run inside them on the same lane"),
     "own_ns"},
    {QT_TR_NOOP("Total"), QT_TR_NOOP("sum of the events, of each the part that is in the area"),
     "time_ns"},
    {QT_TR_NOOP("Share"), QT_TR_NOOP("of the own time of all lines"), "share"},
    {QT_TR_NOOP("Mean"), QT_TR_NOOP("of the whole events, also of those partly in the area"),
     "mean_ns"},
    {QT_TR_NOOP("Median"), QT_TR_NOOP("of the whole events"), "median_ns"},
    {QT_TR_NOOP("p90"), QT_TR_NOOP("90 % of the events are not longer"), "p90_ns"},
    {QT_TR_NOOP("p99"), QT_TR_NOOP("99 % of the events are not longer"), "p99_ns"},
    {QT_TR_NOOP("Min"), QT_TR_NOOP("the shortest event"), "min_ns"},
    {QT_TR_NOOP("Max"), QT_TR_NOOP("the longest event"), "max_ns"},
}};

const char* const kByWords[] = {QT_TR_NOOP("Kind"), QT_TR_NOOP("Stage"), QT_TR_NOOP("Rank"),
                                QT_TR_NOOP("Bubble class")};
constexpr int kPivot = 4;  // the choices after these
constexpr int kInside = 5;
const char* const kByCsv[] = {"kind", "stage", "rank", "bubble_class"};

QString quoted(QString text) {
  if (!text.contains(',') && !text.contains('"')) return text;
  return '"' + text.replace('"', QStringLiteral("\"\"")) + '"';
}

}  // namespace

StatisticsTable::StatisticsTable(const AreaStatistics& statistics) : statistics_(statistics) {}

int StatisticsTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || lines_.empty() ? 0 : static_cast<int>(lines_.size()) + 1;
}

int StatisticsTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

std::optional<double> StatisticsTable::numberOf(const Line& line, int column) const {
  const EventSums& sums = line.sums;
  const auto found = statistics_.percentiles().find(line.line);
  const bool isKnown = found != statistics_.percentiles().end();
  const auto percentile = [&](Nanoseconds LinePercentiles::*which) -> std::optional<double> {
    if (!isKnown) return std::nullopt;
    return static_cast<double>(found->second.*which);
  };
  switch (column) {
    case kCount: return static_cast<double>(sums.count);
    case kOwnTime: return static_cast<double>(sums.own);
    case kTime: return static_cast<double>(sums.inside);
    case kShare:
      return all_.sums.own == 0
                 ? 0
                 : static_cast<double>(sums.own) / static_cast<double>(all_.sums.own);
    case kMean: return sums.mean();
    case kMedian: return percentile(&LinePercentiles::median);
    case kP90: return percentile(&LinePercentiles::p90);
    case kP99: return percentile(&LinePercentiles::p99);
    case kShortest: return static_cast<double>(sums.shortest);
    case kLongest: return static_cast<double>(sums.longest);
    default: return line.line.value_or(0);
  }
}

QString StatisticsTable::textOf(const Line& line, int column) const {
  if (column == kName) {
    return line.line ? QString::fromStdString(lineName(by_, *line.line)) : tr("all");
  }
  if (column == kCount) return QLocale().toString(static_cast<qulonglong>(line.sums.count));
  if (column == kOwnTime) return QString::fromStdString(formatDuration(line.sums.own));
  if (column == kTime) return QString::fromStdString(formatDuration(line.sums.inside));
  const auto number = numberOf(line, column);
  if (!number) return QStringLiteral("…");
  if (column == kShare) return QString::number(100 * *number, 'f', 1) + QStringLiteral(" %");
  return QString::fromStdString(formatDuration(std::llround(*number)));
}

QVariant StatisticsTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto row = static_cast<std::size_t>(index.row());
  const Line& line = row < lines_.size() ? lines_[row] : all_;
  switch (role) {
    case Qt::DisplayRole: return textOf(line, index.column());
    case Qt::TextAlignmentRole:
      return QVariant((index.column() == kName ? Qt::AlignLeft : Qt::AlignRight) |
                      Qt::AlignVCenter);
    case Qt::FontRole: {
      if (line.line) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    default: return {};
  }
}

QVariant StatisticsTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  const ColumnWords& words = kWords[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return section == kName ? tr(kByWords[static_cast<std::size_t>(by_)]) : tr(words.title);
    case Qt::ToolTipRole: return section == kName ? QVariant() : QVariant(tr(words.help));
    case Qt::TextAlignmentRole:
      return QVariant((section == kName ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    default: return {};
  }
}

void StatisticsTable::sort(int column, Qt::SortOrder order) {
  sortedBy_ = column;
  order_ = order;
  emit layoutAboutToBeChanged();
  const QModelIndexList old = persistentIndexList();
  std::vector<std::optional<std::int32_t>> keys;
  for (const QModelIndex& index : old) {
    const auto row = static_cast<std::size_t>(index.row());
    keys.push_back(row < lines_.size() ? lines_[row].line : std::nullopt);
  }
  sortLines();
  for (qsizetype i = 0; i < old.size(); ++i) {
    std::size_t row = 0;
    while (row < lines_.size() && lines_[row].line != keys[static_cast<std::size_t>(i)]) ++row;
    changePersistentIndex(old[i], index(static_cast<int>(row), old[i].column()));
  }
  emit layoutChanged();
}

void StatisticsTable::sortLines() {
  const auto before = [this](const Line& a, const Line& b) {
    const auto first = numberOf(a, sortedBy_);
    const auto second = numberOf(b, sortedBy_);
    if (first == second) return false;
    return order_ == Qt::AscendingOrder ? first < second : second < first;
  };
  std::sort(lines_.begin(), lines_.end(),
            [](const Line& a, const Line& b) { return a.line < b.line; });
  std::stable_sort(lines_.begin(), lines_.end(), before);
}

void StatisticsTable::updateSums() {
  beginResetModel();
  lines_.clear();
  all_ = {};
  by_ = statistics_.by();
  if (statistics_.sums() != nullptr) {
    for (const StatisticsLine& line : linesOf(*statistics_.sums(), by_, statistics_.of())) {
      lines_.push_back({line.line, line.sums});
      all_.sums.add(line.sums);
    }
  }
  sortLines();
  endResetModel();
}

void StatisticsTable::updatePercentiles() {
  const bool isSortedByThem = sortedBy_ == kMedian || sortedBy_ == kP90 || sortedBy_ == kP99;
  if (isSortedByThem) return sort(sortedBy_, order_);
  if (rowCount() > 0) emit dataChanged(index(0, kMedian), index(rowCount() - 1, kP99));
}

QString StatisticsTable::nameOf(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return textOf(at < lines_.size() ? lines_[at] : all_, kName);
}

const LinePercentiles* StatisticsTable::percentilesOf(int row) const {
  if (row < 0 || row >= rowCount()) return nullptr;
  const auto at = static_cast<std::size_t>(row);
  const auto found =
      statistics_.percentiles().find(at < lines_.size() ? lines_[at].line : std::nullopt);
  return found == statistics_.percentiles().end() ? nullptr : &found->second;
}

QString StatisticsTable::csv() const {
  QString text = QString::fromLatin1(kByCsv[static_cast<std::size_t>(by_)]);
  for (int column = kCount; column < kColumns; ++column) {
    text += ',' + QString::fromLatin1(kWords[static_cast<std::size_t>(column)].csv);
  }
  text += '\n';
  for (int row = 0; row < rowCount(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const Line& line = at < lines_.size() ? lines_[at] : all_;
    text += quoted(textOf(line, kName)) + ',' + QString::number(line.sums.count) + ',' +
            QString::number(line.sums.own) + ',' + QString::number(line.sums.inside);
    for (int column = kShare; column < kColumns; ++column) {
      const auto number = numberOf(line, column);
      text += ',';
      if (!number) continue;  // a percentile that is not known yet
      text += column == kShare ? QString::number(*number, 'f', 6)
                               : QString::number(std::llround(*number));
    }
    text += '\n';
  }
  return text;
}

StatisticsPanel::StatisticsPanel(ChartWidget& chart, Causes& causes)
    : chart_(chart),
      statistics_(chart),
      table_(statistics_),
      inside_(chart, causes),
      insideTable_(inside_),
      by_(new QComboBox),
      of_(new QComboBox),
      summary_(new QLabel),
      pages_(new QStackedWidget),
      view_(new QTableView),
      insideView_(new QTableView),
      pivotView_(new QTableView),
      chosen_{StatisticsOf::kAll, StatisticsOf::kJobs, StatisticsOf::kJobs, StatisticsOf::kAll,
              StatisticsOf::kAll},
      histogram_(new HistogramView) {
  by_->addItems(
      {tr("by kind"), tr("by stage"), tr("by rank"), tr("by bubble class"), tr("kinds by rank")});
  of_->addItems({tr("all events"), tr("jobs"), tr("transfers"), tr("operators")});
  of_->setAccessibleName(tr("Events of the statistics"));
  of_->setToolTip(
      tr("Jobs of compute lanes; messages and collectives; operators, kernels and all "
         "other events"));
  by_->setAccessibleName(tr("Lines of the statistics"));
  view_->setObjectName(QStringLiteral("lines"));
  setUp(*view_, table_, tr("Statistics of the area"));
  view_->horizontalHeader()->setSortIndicator(StatisticsTable::kOwnTime, Qt::DescendingOrder);
  view_->setSortingEnabled(true);
  insideView_->setObjectName(QStringLiteral("inside"));
  setUp(*insideView_, insideTable_, tr("What jobs of the area are made of"));
  insideView_->horizontalHeader()->setSortIndicator(InsideTable::kRank, Qt::AscendingOrder);
  insideView_->setSortingEnabled(true);
  pivotView_->setObjectName(QStringLiteral("pivot"));
  setUp(*pivotView_, pivot_, tr("Own time in the area by rank and kind"));
  pivotView_->horizontalHeader()->setSortIndicator(PivotTable::kRank, Qt::AscendingOrder);
  pivotView_->setSortingEnabled(true);
  layOut();
  connect(by_, &QComboBox::currentIndexChanged, this, &StatisticsPanel::choose);
  connect(of_, &QComboBox::currentIndexChanged, this, &StatisticsPanel::chooseEvents);
  for (const QTableView* view : {view_, insideView_, pivotView_}) {
    connect(view->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this,
            &StatisticsPanel::showCurrent);
  }
  connect(&statistics_, &AreaStatistics::sumsChanged, this, &StatisticsPanel::updateSums);
  connect(&statistics_, &AreaStatistics::percentilesChanged, this,
          &StatisticsPanel::updatePercentiles);
  connect(&inside_, &InsideStatistics::isThereChanged, this, &StatisticsPanel::offerInside);
  connect(&inside_, &InsideStatistics::ranksChanged, this, [this] {
    insideTable_.update();
    summary_->setText(summary());
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &StatisticsPanel::showHistogram);
  offerInside();
}

void StatisticsPanel::setUp(QTableView& view, QAbstractTableModel& table, const QString& name) {
  view.setModel(&table);
  view.setAccessibleName(name);
  view.setSelectionBehavior(QAbstractItemView::SelectRows);
  view.setSelectionMode(QAbstractItemView::SingleSelection);
  view.setTabKeyNavigation(false);
  view.setShowGrid(false);
  view.setAlternatingRowColors(true);
  view.setWordWrap(false);
  view.verticalHeader()->hide();
  view.verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  QHeaderView& header = *view.horizontalHeader();
  header.setHighlightSections(false);
  header.setMinimumSectionSize(fontMetrics().horizontalAdvance("000.00 ms") + 16);
  header.setSectionResizeMode(QHeaderView::ResizeToContents);
}

/// The last choice is there only for runs that have it.
void StatisticsPanel::offerInside() {
  const bool isOffered = by_->count() > kInside;
  if (inside_.isThere() == isOffered) return;
  if (!isOffered) return by_->addItem(tr("inside jobs, by rank"));
  if (by_->currentIndex() == kInside) by_->setCurrentIndex(0);
  by_->removeItem(kInside);
}

void StatisticsPanel::choose(int by) {
  const bool isInside = by == kInside;
  pages_->setCurrentIndex(isInside ? 1 : (by == kPivot ? 2 : 0));
  inside_.setWanted(isInside);
  of_->setEnabled(!isInside && by != static_cast<int>(StatisticsBy::kBubbleClass));
  if (isInside || by < 0) return;
  {
    const QSignalBlocker quiet(of_);
    of_->setCurrentIndex(static_cast<int>(chosen_[static_cast<std::size_t>(by)]));
  }
  chooseEvents(of_->currentIndex());
}

void StatisticsPanel::chooseEvents(int of) {
  const int by = by_->currentIndex();
  if (by < 0 || by == kInside || of < 0) return;
  chosen_[static_cast<std::size_t>(by)] = static_cast<StatisticsOf>(of);
  if (by == kPivot) return updateSums();
  statistics_.choose(static_cast<StatisticsBy>(by), static_cast<StatisticsOf>(of));
}

/// Scrolls to the selected line: sorting and another size may have taken it out of sight.
void StatisticsPanel::showCurrent() {
  for (QTableView* view : {view_, insideView_, pivotView_}) {
    view->scrollTo(view->currentIndex().siblingAtColumn(view->columnAt(0)));
  }
}

void StatisticsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  QMetaObject::invokeMethod(this, &StatisticsPanel::showCurrent, Qt::QueuedConnection);
}

void StatisticsPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  QMetaObject::invokeMethod(this, &StatisticsPanel::showCurrent, Qt::QueuedConnection);
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
  head->addWidget(of_);
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
  pages_->addWidget(split);
  pages_->addWidget(insideView_);
  pages_->addWidget(pivotView_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addLayout(head);
  column->addWidget(pages_, 1);
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
  const bool isInside = by_->currentIndex() == kInside;
  if (isInside && !insideTable_.onlyGroup().isEmpty()) {
    text += tr("; collectives: %1").arg(insideTable_.onlyGroup());
  }
  return text;
}

void StatisticsPanel::updateSums() {
  const int row = view_->currentIndex().row();
  const QString selected = row >= 0 ? table_.nameOf(row) : QString();
  pivot_.update(statistics_.sums(), chosen_[kPivot]);
  table_.updateSums();
  summary_->setText(summary());
  int again = 0;
  for (int i = 0; i < table_.rowCount(); ++i) {
    if (table_.nameOf(i) == selected) again = i;
  }
  view_->setCurrentIndex(table_.index(again, 0));
  showCurrent();
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

void StatisticsPanel::copyCsv() {
  const int by = by_->currentIndex();
  QApplication::clipboard()->setText(by == kInside  ? insideTable_.csv()
                                     : by == kPivot ? pivot_.csv()
                                                    : table_.csv());
}

}  // namespace pipetrace
