#include "viewer/search/chart_search.h"

#include <algorithm>
#include <utility>

#include "chart/search/job_search.h"
#include "chart/search/parse_query.h"
#include "trace/error.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

namespace {

/// Marks the matches of a search. Its cost depends on the pixels, not on the matches.
class MatchOverlay : public ChartOverlay {
 public:
  /// `search` must live as long as the overlay paints.
  explicit MatchOverlay(const ChartSearch& search) : search_(search) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  static void paintLane(QPainter& painter, const ChartView& view, const MatchList::Lane& lane,
                        const RowPlace& place);

  const ChartSearch& search_;
};

constexpr int kLeastWidth = 2;
constexpr int kFramedWidth = 5;

using Position = std::vector<std::uint32_t>::const_iterator;

/// The first match from `at` on that ends after `time`. It is near: steps double from there.
Position firstEndingAfter(const MatchList::Lane& lane, Position at, Nanoseconds time) {
  const LaneIndex& events = *lane.index;
  const Position end = lane.positions.end();
  std::ptrdiff_t step = 1;
  while (step < end - at && events[at[step]].end <= time) {
    at += step;
    step *= 2;
  }
  return std::partition_point(at, at + std::min(step, end - at),
                              [&](std::uint32_t position) { return events[position].end <= time; });
}

void MatchOverlay::paint(QPainter& painter, const ChartView& view) {
  const MatchList* matches = search_.matches();
  if (matches == nullptr || &view.model != search_.model()) return;
  painter.save();
  painter.setPen(Qt::NoPen);
  for (const MatchList::Lane& lane : matches->lanes()) {
    const RowPlace row = view.layout[lane.row];
    const int top = view.yOf(row.top);
    if (row.height <= 0 || top >= view.area.bottom() || top + row.height <= view.area.y) continue;
    paintLane(painter, view, lane,
              lane.isBubbles ? row : RowLayout::subLane(row, lane.subLane, lane.subLanes));
  }
  painter.restore();
}

void MatchOverlay::paintLane(QPainter& painter, const ChartView& view, const MatchList::Lane& lane,
                             const RowPlace& place) {
  const QColor fill(255, 170, 0, 70);
  const QColor mark(230, 120, 0);
  const LaneIndex& events = *lane.index;
  const auto end = lane.positions.end();
  auto at = std::partition_point(lane.positions.begin(), end, [&](std::uint32_t position) {
    return events[position].end < view.axis.begin();
  });
  const int top = view.yOf(place.top);
  QRect marked(view.area.x, top, 0, place.height);  // narrow matches side by side
  while (at != end && events[*at].begin <= view.axis.end()) {
    const Event& event = events[*at];
    const int left = std::max(view.xOf(event.begin), view.area.x - kFramedWidth);
    const int right = std::min(std::max(view.xOf(event.end), left + kLeastWidth),
                               view.area.right() + kFramedWidth);
    ++at;
    if (right - left >= kFramedWidth) {
      const QRect box(left, top, right - left, place.height);
      painter.fillRect(box, fill);
      painter.setPen(QPen(mark, 2));
      painter.drawRect(box.adjusted(1, 1, -1, -1));
      continue;
    }
    if (left > marked.right() + 1) {
      painter.fillRect(marked, mark);
      marked.setLeft(left);
    }
    marked.setRight(std::max(marked.right(), right - 1));
    at = firstEndingAfter(lane, at, view.axis.timeAt(marked.right() + 1 - view.area.x));
  }
  painter.fillRect(marked, mark);
}

constexpr std::size_t kEvents = 20'000;  // looked at between two looks at the clock
constexpr qint64 kSlice = 4;             // ms; a frame has 16
constexpr qint64 kReport = 400;          // ms between two reports of a search that goes on

}  // namespace

ChartSearch::ChartSearch(ChartWidget& chart) : QObject(&chart), chart_(chart) {
  chart.addOverlay(std::make_unique<MatchOverlay>(*this));
  connect(&slices_, &QTimer::timeout, this, &ChartSearch::look);
  const auto searchAgain = [this] {
    usual_.reset();  // the model may have grown
    restart();
    // A run that grows is searched again and again: a short search is over before the chart is
    // painted. The window still moves the view of a run that it opens.
    if (search_ && !isFirstWanted_) look();
  };
  connect(&chart, &ChartWidget::modelExtended, this, searchAgain);
  connect(&chart, &ChartWidget::selectionChanged, this, [this, searchAgain] {
    if (chart_.model() != model_) searchAgain();
  });
}

void ChartSearch::start(const QString& query) {
  query_ = query.trimmed();
  isFirstWanted_ = false;
  isNextWanted_ = false;
  restart();
}

void ChartSearch::setOwnTimes(std::shared_ptr<const JobOwnTimes> own) {
  if (own == own_) return;
  own_ = std::move(own);
  usual_.reset();
  if (!query_.isEmpty()) restart();
}

void ChartSearch::restart() {
  if (model_ != chart_.model()) usual_.reset();
  model_ = chart_.model();
  current_.reset();
  search_.reset();
  problem_.clear();
  slices_.stop();
  if (!query_.isEmpty()) {
    try {
      SearchQuery parsed = parseQuery(query_.toStdString());
      if (model_ != nullptr && parsed.own && !usual_) {
        usual_ = std::make_shared<const UsualTimes>(model_->timeline(), own_);
      }
      if (model_ != nullptr) {
        search_ = std::make_unique<JobSearch>(*model_, std::move(parsed), usual_);
      }
    } catch (const Error& error) {
      problem_ = QString::fromUtf8(error.what());
    }
  }
  reported_ = 0;
  if (search_) {
    sinceChanged_.start();
    slices_.start(0);
  }
  chart_.viewport()->update();
  emit changed();
}

void ChartSearch::look() {
  QElapsedTimer slice;
  slice.start();
  bool isDone = false;
  do {
    isDone = search_->advance(kEvents);
  } while (!isDone && slice.elapsed() < kSlice);
  if (isDone) {
    slices_.stop();
    findCurrent();
    if (isFirstWanted_ && count() > 0) {
      isFirstWanted_ = false;
      return goTo(search_->matches().firstFrom({kNsMin, 0, 0}));
    }
  }
  if (isNextWanted_ && count() > 0) return next();
  // A report paints the chart, so it comes with the first match, then now and then.
  const bool isNew = count() != reported_;
  const bool isDue = reported_ == 0 || sinceChanged_.elapsed() >= kReport;
  if (!isDone && !(isNew && isDue)) return;
  reported_ = count();
  sinceChanged_.start();
  if (isNew) chart_.viewport()->update();
  emit changed();
}

/// After a search of another model the selected match is the current one again.
void ChartSearch::findCurrent() {
  if (current_ || !chart_.selection()) return;
  const MatchList& matches = search_->matches();
  const Event* selected = chart_.selection()->event;
  auto place = matches.firstFrom({selected->begin, 0, 0});
  for (; place && place->begin == selected->begin; place = matches.firstFrom(*place)) {
    if (matches.hitOf(*place).event == selected) {
      current_ = place;
      return;
    }
    ++place->position;
  }
}

const MatchList* ChartSearch::matches() const { return search_ ? &search_->matches() : nullptr; }

std::size_t ChartSearch::count() const { return search_ ? search_->matches().size() : 0; }

std::size_t ChartSearch::current() const {
  return current_ ? search_->matches().countBefore(*current_) + 1 : 0;
}

void ChartSearch::goToFirst() {
  isFirstWanted_ = true;
  if (search_ && !isBusy()) slices_.start(0);
}

void ChartSearch::goTo(const std::optional<MatchPlace>& place) {
  current_ = place;
  if (place) chart_.goTo(search_->matches().hitOf(*place));
  chart_.viewport()->update();
  emit changed();
}

void ChartSearch::next() {
  isNextWanted_ = count() == 0 && isBusy();
  if (count() == 0) return;
  const MatchList& matches = search_->matches();
  MatchPlace from{chart_.viewState().begin, 0, 0};
  if (current_) {
    from = *current_;
    ++from.position;
  }
  auto place = matches.firstFrom(from);
  if (!place) place = matches.firstFrom({kNsMin, 0, 0});
  goTo(place);
}

void ChartSearch::previous() {
  if (count() == 0) return;
  const MatchList& matches = search_->matches();
  auto place = matches.lastBefore(current_.value_or(MatchPlace{chart_.viewState().end, 0, 0}));
  if (!place) place = matches.lastBefore({kNsMax, 0, 0});
  goTo(place);
}

}  // namespace pipetrace
