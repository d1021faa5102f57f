#include "viewer/panels/pivot_table.h"

#include <QFont>
#include <QLocale>
#include <algorithm>

#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

QString kindText(JobKind kind) {
  return QString::fromStdString(lineName(StatisticsBy::kKind, static_cast<std::int32_t>(kind)));
}

/// Jobs first, then transfers, then operators, and bubbles last.
int columnOrderOf(JobKind kind) {
  return kind == JobKind::kBubble ? 99 : static_cast<int>(groupOf(kind));
}

}  // namespace

void PivotTable::update(const AreaSums* sums, StatisticsOf of) {
  beginResetModel();
  lines_.clear();
  all_ = {};
  kinds_.clear();
  std::map<int, Line> byRank;
  if (sums != nullptr) {
    for (const AreaSums::OfTrack& track : sums->tracks) {
      for (const auto& [key, ofKey] : track.sums) {
        if (!pipetrace::lineOf(StatisticsBy::kKind, key, track.rank, of)) continue;
        byRank[track.rank].kinds[kindOfKey(key)].add(ofKey);
        all_.kinds[kindOfKey(key)].add(ofKey);
      }
    }
  }
  for (auto& [rank, line] : byRank) {
    line.rank = rank;
    lines_.push_back(std::move(line));
  }
  for (const auto& [kind, sum] : all_.kinds) kinds_.push_back(kind);
  std::stable_sort(kinds_.begin(), kinds_.end(),
                   [](JobKind a, JobKind b) { return columnOrderOf(a) < columnOrderOf(b); });
  if (sortedBy_ >= columnCount()) sortedBy_ = kRank;
  sortLines();
  endResetModel();
}

const PivotTable::Line& PivotTable::lineOf(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return at < lines_.size() ? lines_[at] : all_;
}

EventSums PivotTable::sumsOf(const Line& line, int column) const {
  const auto at = static_cast<std::size_t>(column - 1);
  if (column < 1 || at >= kinds_.size()) return {};
  const auto found = line.kinds.find(kinds_[at]);
  return found == line.kinds.end() ? EventSums() : found->second;
}

int PivotTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || lines_.empty() ? 0 : static_cast<int>(lines_.size()) + 1;
}

int PivotTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 1 + static_cast<int>(kinds_.size());
}

QVariant PivotTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Line& line = lineOf(index.row());
  const EventSums sums = sumsOf(line, index.column());
  switch (role) {
    case Qt::DisplayRole:
      if (index.column() == kRank) return line.rank ? tr("rank %1").arg(*line.rank) : tr("all");
      return sums.count == 0 ? QStringLiteral("-")
                             : QString::fromStdString(formatDuration(sums.own));
    case Qt::TextAlignmentRole:
      return QVariant((index.column() == kRank ? Qt::AlignLeft : Qt::AlignRight) |
                      Qt::AlignVCenter);
    case Qt::FontRole: {
      if (line.rank) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    case Qt::ToolTipRole:
      if (sums.count == 0) return {};
      return tr("%1 events, %2 in all, %3 without the events inside them")
          .arg(QLocale().toString(static_cast<qulonglong>(sums.count)),
               QString::fromStdString(formatDuration(sums.inside)),
               QString::fromStdString(formatDuration(sums.own)));
    default: return {};
  }
}

QVariant PivotTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant((section == kRank ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (section == kRank) return role == Qt::DisplayRole ? QVariant(tr("Rank")) : QVariant();
  const JobKind kind = kinds_[static_cast<std::size_t>(section - 1)];
  if (role == Qt::DisplayRole) return kindText(kind);
  if (role != Qt::ToolTipRole) return {};
  if (kind == JobKind::kBubble) return tr("idle time");
  switch (groupOf(kind)) {
    case StatisticsOf::kJobs: return tr("own time of jobs");
    case StatisticsOf::kTransfers: return tr("own time of messages and collectives");
    default: return tr("own time of operators, kernels and copies");
  }
}

void PivotTable::sort(int column, Qt::SortOrder order) {
  sortedBy_ = column;
  order_ = order;
  emit layoutAboutToBeChanged();
  const QModelIndexList old = persistentIndexList();
  std::vector<std::optional<int>> ranks;
  for (const QModelIndex& index : old) ranks.push_back(lineOf(index.row()).rank);
  sortLines();
  for (qsizetype i = 0; i < old.size(); ++i) {
    int row = 0;
    while (row + 1 < rowCount() && lineOf(row).rank != ranks[static_cast<std::size_t>(i)]) ++row;
    changePersistentIndex(old[i], index(row, old[i].column()));
  }
  emit layoutChanged();
}

void PivotTable::sortLines() {
  const auto valueOf = [this](const Line& line) {
    return sortedBy_ == kRank ? static_cast<Nanoseconds>(*line.rank) : sumsOf(line, sortedBy_).own;
  };
  std::sort(lines_.begin(), lines_.end(),
            [](const Line& a, const Line& b) { return *a.rank < *b.rank; });
  std::stable_sort(lines_.begin(), lines_.end(), [&](const Line& a, const Line& b) {
    return order_ == Qt::AscendingOrder ? valueOf(a) < valueOf(b) : valueOf(b) < valueOf(a);
  });
}

QString PivotTable::csv() const {
  QString text = QStringLiteral("rank");
  for (const JobKind kind : kinds_) {
    text += ',' + QString::fromStdString(std::string(logName(kind))) + QStringLiteral("_own_ns");
  }
  text += '\n';
  for (int row = 0; row < rowCount(); ++row) {
    const Line& line = lineOf(row);
    text += line.rank ? QString::number(*line.rank) : QStringLiteral("all");
    for (int column = 1; column < columnCount(); ++column) {
      text += ',' + QString::number(sumsOf(line, column).own);
    }
    text += '\n';
  }
  return text;
}

}  // namespace pipetrace
