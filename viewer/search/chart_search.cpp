#include "viewer/search/chart_search.h"

#include <utility>

#include "chart/search/parse_query.h"
#include "trace/error.h"
#include "viewer/search/match_overlay.h"

namespace pipetrace {
namespace {

constexpr std::size_t kEvents = 20'000;  // looked at between two looks at the clock
constexpr qint64 kSlice = 4;             // ms; a frame has 16
constexpr qint64 kReport = 400;          // ms between two reports of a search that goes on

}  // namespace

ChartSearch::ChartSearch(ChartWidget& chart) : QObject(&chart), chart_(chart) {
  chart.addOverlay(std::make_unique<MatchOverlay>(*this));
  connect(&slices_, &QTimer::timeout, this, &ChartSearch::look);
  const auto searchAgain = [this] {
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

void ChartSearch::restart() {
  model_ = chart_.model();
  current_.reset();
  search_.reset();
  problem_.clear();
  slices_.stop();
  if (!query_.isEmpty()) {
    try {
      SearchQuery parsed = parseQuery(query_.toStdString());
      if (model_ != nullptr) search_ = std::make_unique<JobSearch>(*model_, std::move(parsed));
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
