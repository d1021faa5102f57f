#include "viewer/panels/ranks_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "chart/colors/heat_color.h"
#include "chart/rows/row_edits.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "viewer/causes/rank_order.h"
#include "viewer/chart/row_labels.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

QString wordsOfClass(BubbleClass of) { return QString::fromStdString(bubbleClassWords(of)); }

double ratioOfRank(const ExplainedRank& rank) {
  const Nanoseconds whole = rank.busy + rank.idle;
  return whole == 0 ? 0 : static_cast<double>(rank.idle) / static_cast<double>(whole);
}

/// The stages of a rank, as its row names them.
std::string stagesOfRank(const ChartModel& model, const ExplainedRank& rank) {
  const RowTree& tree = model.rowTree(RowGrouping::kByRank);
  const std::size_t node = tree.find("rank " + std::to_string(rank.rank));
  return node == RowNode::kNone ? "" : tree[node].detail;
}

}  // namespace

void RanksTable::show(std::shared_ptr<const GraphPlaces> places) {
  beginResetModel();
  places_ = std::move(places);
  lines_.clear();
  classes_.clear();
  longest_ = 0;
  if (places_) {
    const Explanation& run = places_->explanation();
    std::set<int> pipelines;
    std::set<int> replicas;
    std::set<BubbleClass> seen;
    for (const ExplainedRank& rank : run.ranks) {
      pipelines.insert(rank.replica);
      replicas.insert(run.topology.dataParallelIndex(rank.replica));
      longest_ = std::max(longest_, rank.idle);
      for (int i = 0; i < kBubbleClassCount; ++i) {
        if (rank.bubbles[static_cast<std::size_t>(i)] > 0) seen.insert(static_cast<BubbleClass>(i));
      }
    }
    classes_.assign(seen.begin(), seen.end());
    for (const ExplainedRank& rank : run.ranks) {
      std::string place = stagesOfRank(places_->model(), rank);
      if (pipelines.size() > 1) {
        place += (place.empty() ? "" : ", ") +
                 pipelineName(rank.replica, run.topology.tensorRanks, replicas.size() > 1);
      }
      lines_.push_back({&rank, QString::fromStdString(place)});
    }
  }
  endResetModel();
}

void RanksTable::setTheme(const Theme& theme) {
  theme_ = theme;
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

std::optional<BubbleClass> RanksTable::classAt(int column) const {
  const int at = column - kFirstClass;
  if (at < 0 || static_cast<std::size_t>(at) >= classes_.size()) return std::nullopt;
  return classes_[static_cast<std::size_t>(at)];
}

double RanksTable::valueOf(const ExplainedRank& rank, int column) const {
  switch (column) {
    case kRank: return rank.rank;
    case kStage: return rank.position;
    case kWork: return rank.work;
    case kBusy: return static_cast<double>(rank.busy);
    case kIdle: return static_cast<double>(rank.idle);
    case kRatio: return ratioOfRank(rank);
    default: {
      const auto of = classAt(column);
      return of ? static_cast<double>(rank.bubbles[static_cast<std::size_t>(*of)]) : 0;
    }
  }
}

int RanksTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int RanksTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kFirstClass + static_cast<int>(classes_.size());
}

QString RanksTable::textOf(const Line& line, int column) const {
  const double value = valueOf(*line.rank, column);
  switch (column) {
    case kRank: return tr("rank %1").arg(line.rank->rank);
    case kStage: return line.stages;
    case kWork: return QString::number(value, 'f', 2) + QStringLiteral("×");
    case kRatio: return QString::number(100 * value, 'f', 1) + QStringLiteral(" %");
    default:
      return value == 0 ? QStringLiteral("-")
                        : QString::fromStdString(formatDuration(std::llround(value)));
  }
}

QVariant RanksTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Line& line = lines_[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  const bool isHeat = column == kIdle || column >= kFirstClass;
  const double share =
      longest_ == 0 ? 0 : valueOf(*line.rank, column) / static_cast<double>(longest_);
  switch (role) {
    case Qt::DisplayRole: return textOf(line, column);
    case Qt::TextAlignmentRole:
      return QVariant((column <= kStage ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::BackgroundRole:
      return isHeat ? QVariant(toQColor(heatColor(theme_, share))) : QVariant();
    case Qt::ForegroundRole:
      return isHeat ? QVariant(toQColor(textColorOn(heatColor(theme_, share)))) : QVariant();
    case Qt::ToolTipRole: {
      const auto of = classAt(column);
      const QString where =
          of ? tr("Enter goes to its longest bubble of this class") : tr("Enter goes to its row");
      return tr("rank %1, %2\n%3").arg(line.rank->rank).arg(line.stages, where);
    }
    default: return {};
  }
}

QVariant RanksTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const auto of = classAt(section);
  if (role == Qt::TextAlignmentRole) {
    return QVariant((section <= kStage ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    if (of) return QString::fromUtf8(rowOf(*of).meaning);
    if (section == kWork) {
      return tr(
          "How many times as long its own jobs take as those of others: its stage\n"
          "beside the other stages, times the rank beside its peers");
    }
    return section == kRatio ? tr("Idle time of the steps' time") : QVariant();
  }
  if (role != Qt::DisplayRole) return {};
  if (of) return wordsOfClass(*of);
  const QString names[] = {tr("Rank"), tr("Stage"), tr("Own work"),
                           tr("Busy"), tr("Idle"),  tr("Bubble ratio")};
  return names[section];
}

void RanksTable::sort(int column, Qt::SortOrder order) {
  emit layoutAboutToBeChanged();
  const QModelIndexList old = persistentIndexList();
  std::vector<const ExplainedRank*> ranks;
  for (const QModelIndex& index : old) ranks.push_back(&rankAt(index.row()));
  std::sort(lines_.begin(), lines_.end(),
            [](const Line& a, const Line& b) { return a.rank->rank < b.rank->rank; });
  std::stable_sort(lines_.begin(), lines_.end(), [&](const Line& a, const Line& b) {
    const double first = valueOf(*a.rank, column);
    const double second = valueOf(*b.rank, column);
    return order == Qt::AscendingOrder ? first < second : second < first;
  });
  for (qsizetype i = 0; i < old.size(); ++i) {
    const auto line = std::find_if(lines_.begin(), lines_.end(), [&](const Line& each) {
      return each.rank == ranks[static_cast<std::size_t>(i)];
    });
    changePersistentIndex(old[i], index(static_cast<int>(line - lines_.begin()), old[i].column()));
  }
  emit layoutChanged();
}

QString RanksTable::csv() const {
  QString text = QStringLiteral("rank,stage,own_work,busy_ns,idle_ns,bubble_ratio");
  for (const BubbleClass of : classes_) {
    text += ',' + QString::fromStdString(std::string(rowOf(of).name)) + QStringLiteral("_ns");
  }
  text += '\n';
  for (const Line& line : lines_) {
    QStringList cells{QString::number(line.rank->rank),
                      line.stages.contains(',') ? '"' + line.stages + '"' : line.stages,
                      QString::number(line.rank->work, 'f', 4),
                      QString::number(line.rank->busy),
                      QString::number(line.rank->idle),
                      QString::number(ratioOfRank(*line.rank), 'f', 6)};
    for (const BubbleClass of : classes_) {
      cells << QString::number(line.rank->bubbles[static_cast<std::size_t>(of)]);
    }
    text += cells.join(',') + '\n';
  }
  return text;
}

RanksPanel::RanksPanel(ChartWidget& chart, Causes& causes)
    : chart_(chart),
      causes_(causes),
      view_(new QTableView),
      words_(new QLabel),
      sortRows_(new QPushButton(tr("Sort the chart so"))) {
  view_->setModel(&table_);
  view_->setAccessibleName(tr("Ranks and their idle time"));
  view_->setSelectionBehavior(QAbstractItemView::SelectItems);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  QHeaderView& header = *view_->horizontalHeader();
  header.setHighlightSections(false);
  header.setMinimumSectionSize(fontMetrics().horizontalAdvance("000.00 ms") + 16);
  header.setSectionResizeMode(QHeaderView::ResizeToContents);
  header.setSortIndicator(RanksTable::kIdle, Qt::DescendingOrder);
  view_->setSortingEnabled(true);
  sortRows_->setToolTip(tr("Puts the rows of the chart into the order of this table"));
  auto* copy = new QPushButton(tr("Copy as CSV"));
  copy->setToolTip(tr("Copy the table with times in nanoseconds (Ctrl+C)"));
  auto* copyKey = new QAction(tr("Copy the ranks as CSV"), this);
  copyKey->setShortcut(QKeySequence::Copy);
  copyKey->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(copyKey);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(8, 4, 8, 0);
  line->addWidget(words_, 1);
  line->addWidget(sortRows_);
  line->addWidget(copy);
  words_->setMinimumWidth(60);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addLayout(line);
  column->addWidget(view_, 1);
  connect(copy, &QPushButton::clicked, this, &RanksPanel::copyCsv);
  connect(copyKey, &QAction::triggered, this, &RanksPanel::copyCsv);
  connect(sortRows_, &QPushButton::clicked, this, &RanksPanel::sortRows);
  connect(view_, &QTableView::activated, this, &RanksPanel::go);
  connect(view_, &QTableView::doubleClicked, this, &RanksPanel::go);
  connect(&causes_, &Causes::changed, this, [this] {
    if (places_ != causes_.sharedPlaces()) update();
  });
  update();
}

void RanksPanel::update() {
  places_ = causes_.sharedPlaces();
  table_.show(places_);
  const QHeaderView& header = *view_->horizontalHeader();
  table_.sort(header.sortIndicatorSection(), header.sortIndicatorOrder());
  view_->scrollToTop();
  sortRows_->setEnabled(places_ != nullptr);
  if (!places_) {
    words_->setText(tr("Nothing is known before the causes of idle time are."));
    return;
  }
  std::set<std::int32_t> steps;
  for (const ExplainedStep& step : places_->explanation().steps) {
    if (step.isCounted) steps.insert(step.summary.step);
  }
  words_->setText(tr("Sums over %1. A double click or Enter goes to the rank.")
                      .arg(QString::fromStdString(countText(steps.size(), "step"))));
  updateTheme();
}

void RanksPanel::updateTheme() {
  if (chart_.model() != nullptr) table_.setTheme(chart_.model()->theme());
}

void RanksPanel::go(const QModelIndex& cell) {
  if (!places_ || !cell.isValid()) return;
  const int rank = table_.rankAt(cell.row()).rank;
  const std::vector<ChartRow>& rows = chart_.model()->rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [rank](const ChartRow& each) {
    return each.rank == rank && each.isCompute;
  });
  if (row == rows.end()) return;
  const auto at = static_cast<std::size_t>(row - rows.begin());
  chart_.showRow(at);
  chart_.rowLabels()->setCurrent(chart_.model()->rowTree(chart_.rowState().grouping).nodeOf(at));
  const auto of = table_.classAt(cell.column());
  if (!of) return;
  const CountedSteps& counted = places_->explanation().counted;
  const Event* longest = nullptr;
  for (const LaneIndex& lane : row->bubbles) {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const Event& bubble = lane[i];
      if (bubble.bubbleClass != *of || !counted.contains(bubble.step)) continue;
      if (longest == nullptr || bubble.duration() > longest->duration()) longest = &bubble;
    }
  }
  if (longest != nullptr) causes_.goTo({at, longest});
}

void RanksPanel::sortRows() {
  if (!places_ || chart_.model() == nullptr) return;
  RankValues values;
  for (int row = 0; row < table_.rowCount(); ++row) {
    values["rank " + std::to_string(table_.rankAt(row).rank)] = -row;
  }
  const RowState& state = chart_.rowState();
  chart_.setRowState(withRanksSorted(state, chart_.model()->rowTree(state.grouping), values));
  chart_.verticalScrollBar()->setValue(0);
}

void RanksPanel::copyCsv() { QApplication::clipboard()->setText(table_.csv()); }

}  // namespace pipetrace
