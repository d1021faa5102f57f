#include "viewer/panels/waiting_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "chart/colors/heat_color.h"
#include "trace/text/decimal_time.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

constexpr int kScaleWidth = 120;  // pixels
constexpr int kScaleGap = 6;
constexpr int kMeasuredRows = 64;  // for the widths of columns

double shareOf(Nanoseconds time, Nanoseconds longest) {
  return longest == 0 ? 0 : static_cast<double>(time) / static_cast<double>(longest);
}

}  // namespace

void WaitingTable::show(WaitingMap map) {
  beginResetModel();
  map_ = std::move(map);
  endResetModel();
}

void WaitingTable::setTheme(const Theme& theme) {
  theme_ = theme;
  if (rowCount() > 0 && columnCount() > 0) {
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  }
}

Nanoseconds WaitingTable::timeAt(const QModelIndex& cell) const {
  return map_.rows[static_cast<std::size_t>(cell.row())]
      .waiting[static_cast<std::size_t>(cell.column())];
}

int WaitingTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(map_.rows.size());
}

int WaitingTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(map_.columns.size());
}

QVariant WaitingTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Nanoseconds time = timeAt(index);
  const Color color = heatColor(theme_, shareOf(time - map_.least, map_.longest - map_.least));
  switch (role) {
    case Qt::DisplayRole:
      return time == 0 ? QStringLiteral("-") : QString::fromStdString(formatDuration(time));
    case Qt::TextAlignmentRole: return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::BackgroundRole: return toQColor(color);
    case Qt::ForegroundRole: return toQColor(textColorOn(color));
    case Qt::ToolTipRole: {
      const QString where =
          tr("rank %1, %2")
              .arg(map_.rows[static_cast<std::size_t>(index.row())].rank)
              .arg(QString::fromStdString(map_.columns[static_cast<std::size_t>(index.column())]));
      if (map_.isOwn) {
        return tr("%1: its jobs work %2 themselves, of a step in the mean")
                   .arg(where, QString::fromStdString(formatDuration(time))) +
               '\n' + tr("Click to see the longest of these jobs in the chart");
      }
      if (time == 0) return tr("%1: it waits for nobody").arg(where);
      return (map_.by == WaitsBy::kStep ? tr("%1: it waits %2")
                                        : tr("%1: it waits %2 in the mean of steps"))
                 .arg(where, QString::fromStdString(formatDuration(time))) +
             '\n' + tr("Click to see the longest of these waits in the chart");
    }
    default: return {};
  }
}

QVariant WaitingTable::headerData(int section, Qt::Orientation orientation, int role) const {
  const auto at = static_cast<std::size_t>(section);
  if (role != Qt::DisplayRole || section < 0) return {};
  if (orientation == Qt::Vertical) {
    return at < map_.rows.size() ? tr("rank %1").arg(map_.rows[at].rank) : QVariant();
  }
  return at < map_.columns.size() ? QString::fromStdString(map_.columns[at]) : QVariant();
}

QString WaitingTable::csv() const {
  QString text = QStringLiteral("rank");
  for (const std::string& column : map_.columns) {
    text += ',' + QString::fromStdString(column).replace(QChar(0xa0), ' ') +
            (map_.isOwn ? QStringLiteral(" own_ns") : QStringLiteral(" wait_inside_ns"));
  }
  text += '\n';
  for (const WaitingMap::Row& row : map_.rows) {
    text += QString::number(row.rank);
    for (const Nanoseconds time : row.waiting) text += ',' + QString::number(time);
    text += '\n';
  }
  return text;
}

HeatScale::HeatScale() { setAccessibleName(tr("Scale of the colours")); }

void HeatScale::show(Nanoseconds least, Nanoseconds longest) {
  text_ = QString::fromStdString(formatDuration(longest));
  from_ = least == 0 ? QStringLiteral("0") : QString::fromStdString(formatDuration(least));
  setAccessibleDescription(least == 0 ? tr("from no waiting to %1").arg(text_)
                                      : tr("from %1 to %2").arg(from_, text_));
  updateGeometry();
  update();
}

void HeatScale::setTheme(const Theme& theme) {
  theme_ = theme;
  update();
}

QSize HeatScale::sizeHint() const {
  const QFontMetrics metrics(font());
  return {metrics.horizontalAdvance(from_) + metrics.horizontalAdvance(text_) + kScaleWidth +
              2 * kScaleGap,
          metrics.height() + 2};
}

void HeatScale::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const int left = QFontMetrics(font()).horizontalAdvance(from_) + kScaleGap;
  const QRect bar(left, 2, kScaleWidth, height() - 4);
  QLinearGradient gradient(bar.topLeft(), bar.topRight());
  gradient.setColorAt(0, toQColor(heatColor(theme_, 0)));
  gradient.setColorAt(1, toQColor(heatColor(theme_, 1)));
  painter.fillRect(bar, gradient);
  painter.setPen(toQColor(theme_.stepLine));
  painter.drawRect(bar.adjusted(0, 0, -1, -1));
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter, from_);
  painter.drawText(rect().adjusted(bar.right() + kScaleGap, 0, 0, 0),
                   Qt::AlignLeft | Qt::AlignVCenter, text_);
}

WaitingPanel::WaitingPanel(ChartWidget& chart, Causes& causes)
    : chart_(chart),
      causes_(causes),
      by_(new QComboBox),
      words_(new QLabel),
      scale_(new HeatScale),
      head_(new QWidget),
      view_(new QTableView),
      nothing_(new QLabel),
      pages_(new QStackedWidget) {
  by_->setAccessibleName(tr("Columns of the map"));
  view_->setModel(&table_);
  view_->setAccessibleName(tr("Waiting inside jobs"));
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  view_->verticalHeader()->setHighlightSections(false);
  view_->verticalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  view_->horizontalHeader()->setHighlightSections(false);
  view_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view_->horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
  view_->horizontalHeader()->setMinimumSectionSize(fontMetrics().horizontalAdvance("000.00 ms") +
                                                   16);
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setContentsMargins(16, 8, 16, 8);
  layOut();
  connect(by_, &QComboBox::currentIndexChanged, this, &WaitingPanel::choose);
  connect(view_, &QTableView::clicked, this, &WaitingPanel::go);
  connect(view_, &QTableView::activated, this, &WaitingPanel::go);
  connect(&causes_, &Causes::changed, this, [this] {
    if (places_ != causes_.sharedPlaces()) update();
  });
  update();
}

void WaitingPanel::layOut() {
  auto* copy = new QPushButton(tr("Copy as CSV"));
  copy->setToolTip(tr("Copy the map with times in nanoseconds (Ctrl+C)"));
  connect(copy, &QPushButton::clicked, this, &WaitingPanel::copyCsv);
  auto* copyKey = new QAction(tr("Copy the map as CSV"), this);
  copyKey->setShortcut(QKeySequence::Copy);
  copyKey->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(copyKey, &QAction::triggered, this, &WaitingPanel::copyCsv);
  addAction(copyKey);

  auto* line = new QHBoxLayout(head_);
  line->setContentsMargins(8, 4, 8, 0);
  line->addWidget(by_);
  line->addWidget(words_, 1);
  line->addWidget(scale_);
  line->addWidget(copy);
  line->setSpacing(8);
  words_->setMinimumWidth(60);
  auto* map = new QWidget;
  auto* mapColumn = new QVBoxLayout(map);
  mapColumn->setContentsMargins(0, 0, 0, 0);
  mapColumn->addWidget(head_);
  mapColumn->addWidget(view_, 1);
  pages_->addWidget(map);
  pages_->addWidget(nothing_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(pages_);
}

void WaitingPanel::update() {
  const bool wasThere = isThere();
  places_ = causes_.sharedPlaces();
  maps_.clear();
  if (places_) maps_ = waitingMaps(places_->explanation().inside);
  if (!maps_.empty()) maps_.push_back(ownTimeMap(places_->explanation().inside));
  const int before = by_->currentIndex();
  by_->clear();
  for (const WaitingMap& map : maps_) {
    // Without "waiting", of which most are.
    by_->addItem(
        QString::fromStdString(map.isOwn ? map.title : map.title.substr(map.title.find(' ') + 1)));
  }
  if (isThere()) by_->setCurrentIndex(before >= 0 && before < by_->count() ? before : 0);
  pages_->setCurrentIndex(isThere() ? 0 : 1);
  if (!places_) {
    nothing_->setText(tr("Nothing is known before the causes of idle time are."));
  } else if (places_->graph().inside().empty()) {
    nothing_->setText(
        tr("Nothing to show: no ranks of this run are known to meet in collectives inside jobs."));
  } else {
    nothing_->setText(tr("Ranks meet inside jobs, and none waits for the others there."));
  }
  if (isThere()) updateTheme();
  if (isThere() != wasThere) emit isThereChanged();
}

void WaitingPanel::choose(int map) {
  const bool isMap = map >= 0 && static_cast<std::size_t>(map) < maps_.size();
  table_.show(isMap ? maps_[static_cast<std::size_t>(map)] : WaitingMap());
  if (!isMap) return;
  scale_->show(table_.map().least, table_.map().longest);
  if (table_.map().isOwn) {
    words_->setText(tr("Own time of jobs, a step"));
    words_->setToolTip(
        tr("Time in which the ranks' own kernels work inside jobs, of a step in the "
           "mean. A rank that others wait for is dark among pale ones."));
    return;
  }
  const bool isOfStep = table_.map().by == WaitsBy::kStep;
  words_->setText(isOfStep ? tr("Waiting for the last member")
                           : tr("Waiting for the last member, a step"));
  words_->setToolTip(isOfStep
                         ? tr("Time that ranks wait inside jobs for the last member of collectives")
                         : tr("Time that ranks wait inside jobs for the last member of "
                              "collectives, of a step in the mean"));
}

void WaitingPanel::updateTheme() {
  if (chart_.model() == nullptr) return;
  table_.setTheme(chart_.model()->theme());
  scale_->setTheme(chart_.model()->theme());
}

void WaitingPanel::go(const QModelIndex& cell) {
  if (!places_ || !cell.isValid()) return;
  const WaitingMap& map = table_.map();
  const int rank = map.rows[static_cast<std::size_t>(cell.row())].rank;
  const WaitsKey key = map.keys[static_cast<std::size_t>(cell.column())];
  const CountedSteps& counted = places_->explanation().counted;
  const JobGraph::Id job = map.isOwn ? longestOwn(places_->graph(), counted, rank, key.number)
                                     : longestWait(places_->graph(), counted, rank, map.by, key);
  if (const auto spot = places_->spotOf(job)) causes_.goTo(*spot);
}

void WaitingPanel::copyCsv() { QApplication::clipboard()->setText(table_.csv()); }

}  // namespace pipetrace
