#include "viewer/panels/inside_statistics.h"

#include <QFont>
#include <QLocale>
#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <utility>

#include "analysis/present/run_report.h"
#include "trace/text/decimal_time.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

struct PartWords {
  const char* title;
  const char* help;
  const char* csv;
};

constexpr std::array<PartWords, InsideTable::kFirstOfGroups> kPartWords = {{
    {QT_TR_NOOP("Rank"), "", "rank"},
    {QT_TR_NOOP("Jobs"), QT_TR_NOOP("compute jobs that are at least partly in the area"), "jobs"},
    {QT_TR_NOOP("Time"), QT_TR_NOOP("of these jobs, of each the part that is in the area"),
     "time_ns"},
    {QT_TR_NOOP("Own"), QT_TR_NOOP("kernels of the rank compute"), "own_ns"},
    {QT_TR_NOOP("Waiting"), QT_TR_NOOP("for the last member of a collective"), "wait_inside_ns"},
    {QT_TR_NOOP("Moving"), QT_TR_NOOP("collectives, once all members are there"), "move_inside_ns"},
    {QT_TR_NOOP("Launch-bound"), QT_TR_NOOP("the device waits for its host"), "launch_bound_ns"},
}};

QString toQString(const std::string& text) { return QString::fromStdString(text); }

/// The ranks (indices) whose compute rows are in the area.
std::vector<std::uint32_t> ranksIn(const ChartArea& area, const GraphPlaces& places) {
  std::set<std::uint32_t> ranks;
  for (const std::size_t row : area.rows) {
    if (row >= places.model().rows().size() || !places.model().rows()[row].isCompute) continue;
    if (const auto rank = places.rankOf(row)) ranks.insert(*rank);
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace

InsideStatistics::InsideStatistics(ChartWidget& chart, Causes& causes)
    : chart_(chart), causes_(causes), places_(causes.sharedPlaces()) {
  connect(&causes, &Causes::changed, this, &InsideStatistics::updatePlaces);
  connect(&chart, &ChartWidget::modelChanged, this, [this] { work_.stop(); });
  connect(&chart, &ChartWidget::areaChanged, this, &InsideStatistics::updateRanks);
}

void InsideStatistics::updatePlaces() {
  if (places_ == causes_.sharedPlaces()) return;
  work_.stop();  // the timeline may go
  places_ = causes_.sharedPlaces();
  emit isThereChanged();
  updateRanks();
}

void InsideStatistics::setWanted(bool isWanted) {
  if (isWanted == isWanted_) return;
  isWanted_ = isWanted;
  updateRanks();
}

void InsideStatistics::updateRanks() {
  const std::uint64_t number = ++asked_;
  if (!isWanted_ || !isThere() || !chart_.area()) {
    work_.cancel();
    ranks_.clear();
    emit ranksChanged();
    return;
  }
  const ChartArea& area = *chart_.area();
  work_.start([this, number, places = places_, ranks = ranksIn(area, *places_),
               time = Interval{area.time.begin, area.time.end}](const std::atomic<bool>& stop) {
    try {
      std::vector<InsideTimes> found(ranks.size());
      inParallel(0, ranks.size(), [&](std::size_t i) {
        if (!stop) found[i] = insideTimesIn(places->graph(), ranks[i], time);
      });
      if (stop) return;
      std::erase_if(found, [](const InsideTimes& each) { return each.jobs == 0; });
      std::sort(found.begin(), found.end(),
                [](const auto& a, const auto& b) { return a.rank < b.rank; });
      QMetaObject::invokeMethod(
          this,
          [this, number, found = std::move(found)]() mutable {
            if (number != asked_) return;
            ranks_ = std::move(found);
            emit ranksChanged();
          },
          Qt::QueuedConnection);
    } catch (const std::exception&) {
      // No memory: the table stays as it was.
    }
  });
}

int InsideTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || lines_.empty() ? 0 : static_cast<int>(lines_.size()) + 1;
}

int InsideTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kFirstOfGroups + 2 * static_cast<int>(groups_.size());
}

const InsideTimes& InsideTable::lineOf(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return at < lines_.size() ? lines_[at] : all_;
}

Nanoseconds InsideTable::numberOf(const InsideTimes& line, int column) const {
  switch (column) {
    case kRank: return line.rank;
    case kJobs: return line.jobs;
    case kTime: return line.parts.total();
    case kOwnTime: return line.parts.own;
    case kWaiting: return line.parts.waiting;
    case kMoving: return line.parts.moving;
    case kLaunchBound: return line.parts.launchBound;
    default: break;
  }
  const auto& [use, kind] = groups_[static_cast<std::size_t>(column - kFirstOfGroups) / 2];
  const InsideTimes::OfGroups* const of = line.of(use, kind);
  if (of == nullptr) return 0;
  return (column - kFirstOfGroups) % 2 == 0 ? of->waiting : of->moving;
}

QVariant InsideTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const bool isOfAll = this->isOfAll(index.row());
  switch (role) {
    case Qt::DisplayRole: {
      const Nanoseconds number = numberOf(lineOf(index.row()), index.column());
      if (index.column() == kRank) return isOfAll ? tr("all") : tr("rank %1").arg(number);
      if (index.column() == kJobs) return QLocale().toString(static_cast<qlonglong>(number));
      return number == 0 ? QStringLiteral("-") : toQString(formatDuration(number));
    }
    case Qt::TextAlignmentRole:
      return QVariant((index.column() == kRank ? Qt::AlignLeft : Qt::AlignRight) |
                      Qt::AlignVCenter);
    case Qt::FontRole: {
      if (!isOfAll) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    default: return {};
  }
}

QVariant InsideTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant((section == kRank ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  if (section < kFirstOfGroups) {
    const PartWords& words = kPartWords[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return tr(words.title);
    return tr(words.help);
  }
  const auto& [use, kind] = groups_[static_cast<std::size_t>(section - kFirstOfGroups) / 2];
  const PartWords& part = kPartWords[(section - kFirstOfGroups) % 2 == 0 ? kWaiting : kMoving];
  const QString group = toQString(groupText(use, kind));
  if (role == Qt::ToolTipRole) return tr("%1: %2").arg(group, tr(part.help));
  return tr(part.title) + '\n' + QString(group).replace(' ', '\n');
}

void InsideTable::sort(int column, Qt::SortOrder order) {
  sortedBy_ = column;
  order_ = order;
  emit layoutAboutToBeChanged();
  const QModelIndexList old = persistentIndexList();
  std::vector<std::optional<int>> ranks;
  for (const QModelIndex& index : old) {
    ranks.push_back(isOfAll(index.row()) ? std::nullopt : std::optional(lineOf(index.row()).rank));
  }
  sortLines();
  for (qsizetype i = 0; i < old.size(); ++i) {
    const auto& rank = ranks[static_cast<std::size_t>(i)];
    const auto at = std::find_if(lines_.begin(), lines_.end(),
                                 [&](const InsideTimes& each) { return rank == each.rank; });
    changePersistentIndex(old[i], index(static_cast<int>(at - lines_.begin()), old[i].column()));
  }
  emit layoutChanged();
}

void InsideTable::sortLines() {
  if (sortedBy_ >= columnCount()) sortedBy_ = kRank;  // a kind of group that is no longer there
  std::sort(lines_.begin(), lines_.end(),
            [](const InsideTimes& a, const InsideTimes& b) { return a.rank < b.rank; });
  std::stable_sort(lines_.begin(), lines_.end(), [&](const InsideTimes& a, const InsideTimes& b) {
    const Nanoseconds first = numberOf(a, sortedBy_);
    const Nanoseconds second = numberOf(b, sortedBy_);
    return order_ == Qt::AscendingOrder ? first < second : second < first;
  });
}

void InsideTable::update() {
  beginResetModel();
  lines_ = statistics_.ranks();
  all_ = {};
  for (const InsideTimes& line : lines_) all_.add(line);
  groups_ = groupsOf(lines_);
  only_.reset();
  if (groups_.size() == 1) {
    only_ = groups_.front();
    groups_.clear();
  }
  sortLines();
  endResetModel();
}

QString InsideTable::onlyGroup() const {
  return only_ ? toQString(groupText(only_->first, only_->second)) : QString();
}

QString InsideTable::csv() const {
  QString text;
  for (int column = 0; column < columnCount(); ++column) {
    if (column > 0) text += ',';
    if (column < kFirstOfGroups) {
      text += QString::fromLatin1(kPartWords[static_cast<std::size_t>(column)].csv);
      continue;
    }
    const auto& [use, kind] = groups_[static_cast<std::size_t>(column - kFirstOfGroups) / 2];
    const bool isWaiting = (column - kFirstOfGroups) % 2 == 0;
    text += toQString(groupText(use, kind)) + ' ' +
            QString::fromLatin1(kPartWords[isWaiting ? kWaiting : kMoving].csv);
  }
  text += '\n';
  for (int row = 0; row < rowCount(); ++row) {
    text += isOfAll(row) ? QStringLiteral("all") : QString::number(lineOf(row).rank);
    for (int column = kJobs; column < columnCount(); ++column) {
      text += ',' + QString::number(numberOf(lineOf(row), column));
    }
    text += '\n';
  }
  return text;
}

}  // namespace pipetrace
