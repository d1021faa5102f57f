#include "viewer/compare/compare_pane.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "analysis/present/diff_reasons.h"
#include "chart/text/cell_label.h"
#include "viewer/compare/tints.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

constexpr int kLook = 100;  // ms between two looks at how much of B is read

ChartHit hitOn(const JobSpot& job) {
  return {.row = job.row, .event = job.event, .count = 1, .load = {}, .span = 0};
}

std::optional<std::size_t> indexOfMedian(const ChartModel& model) {
  const auto median = medianStep(model.steps());
  if (!median) return std::nullopt;
  const auto& steps = model.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].step == median->step && steps[i].begin == median->begin) return i;
  }
  return std::nullopt;
}

Timeline::Span shifted(const Timeline::Span& span, Nanoseconds by) {
  return {span.begin + by, span.end + by};
}

/// "+20.10 ms (+5.5 %)".
QString differenceText(Nanoseconds a, Nanoseconds b) {
  QString text = QString::fromStdString(signedTime(b - a));
  if (a > 0) {
    const double share = static_cast<double>(b - a) / static_cast<double>(a);
    text += QStringLiteral(" (%1)").arg(QString::fromStdString(signedShare(share)));
  }
  return text;
}

/// The entries of B's legend that A's lacks.
std::vector<LegendEntry> legendBeside(const ChartModel& a, const ChartModel& b) {
  std::vector<LegendEntry> more;
  for (const LegendEntry& entry : b.legend()) {
    const bool isThere =
        std::any_of(a.legend().begin(), a.legend().end(), [&](const LegendEntry& own) {
          return own.label == entry.label && own.kind == entry.kind && own.chunk == entry.chunk;
        });
    if (!isThere) more.push_back(entry);
  }
  return more;
}

/// Ranks show their compute rows alone.
RowState withFoldedRanks(const ChartModel& model) {
  RowState state;
  const RowTree& tree = model.rowTree(state.grouping);
  for (std::size_t node = 0; node < tree.size(); ++node) {
    if (tree[node].kind == RowKind::kRank && tree.canFold(node)) {
      state.folded[tree[node].key] = true;
    }
  }
  return state;
}

}  // namespace

ComparePane::ComparePane(ChartStack& charts) : charts_(charts), chart_(charts.main()) {
  headA_ = addHeader(QStringLiteral("A"), tr("Step of run A"));
  charts_.setHead(*headA_.bar);
  headB_ = addHeader(QStringLiteral("B"), tr("Step of run B"));
  cancel_ = new QPushButton(tr("Cancel"));
  cancel_->setToolTip(tr("Give the second run up"));
  headB_.bar->layout()->addWidget(cancel_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(headB_.bar);
  charts_.add(*this);

  chart_.addOverlay(std::make_unique<Tints>(comparison_, WhichRun::kA));
  connect(cancel_, &QPushButton::clicked, &comparison_, &RunComparison::close);
  connect(&comparison_, &RunComparison::stageChanged, this, &ComparePane::follow);
  connect(&comparison_, &RunComparison::twinsChanged, this, [this] {
    if (second_ == nullptr) return;
    selectTwin(chart_, *second_, WhichRun::kA);
    chart_.viewport()->update();
    second_->viewport()->update();
    emit changed();
  });
  connect(&comparison_, &RunComparison::classifying, this, [this] {
    if (second_ != nullptr) second_->modelWillChange();
  });
  connect(&comparison_, &RunComparison::classified, this, [this] {
    if (second_ == nullptr) return;
    second_->modelHasChanged();
    second_->setLegend(legendBeside(*chart_.model(), *second_->model()));
  });
  connect(&chart_, &ChartWidget::modelExtended, this, [this] {
    if (second_ != nullptr) second_->setLegend(legendBeside(*chart_.model(), *second_->model()));
  });
  connect(&chart_, &ChartWidget::stepShown, this, &ComparePane::followStep);
  connect(&chart_, &ChartWidget::selectionChanged, this, [this] {
    if (second_ != nullptr) selectTwin(chart_, *second_, WhichRun::kA);
  });
  for (const Header* const head : {&headA_, &headB_}) {
    connect(head->steps, &QComboBox::activated, this, [this] {
      chooseSteps(static_cast<std::size_t>(headA_.steps->currentIndex()),
                  static_cast<std::size_t>(headB_.steps->currentIndex()));
      chart_.setFocus();
    });
  }
  progress_.setInterval(kLook);
  connect(&progress_, &QTimer::timeout, this, &ComparePane::describe);
  follow();
}

ComparePane::~ComparePane() {
  comparison_.disconnect(this);
  delete second_;  // before its run goes
  second_ = nullptr;
}

ComparePane::Header ComparePane::addHeader(const QString& mark, const QString& words) {
  Header head;
  head.bar = new QWidget;
  auto* line = new QHBoxLayout(head.bar);
  line->setContentsMargins(8, 2, 8, 2);
  auto* letter = new QLabel(mark);
  QFont bold = letter->font();
  bold.setBold(true);
  letter->setFont(bold);
  head.name = new QLabel;
  head.name->setTextFormat(Qt::PlainText);
  head.steps = new QComboBox;
  head.steps->setAccessibleName(words);
  head.steps->setToolTip(words);
  head.steps->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  head.steps->setMinimumContentsLength(26);
  head.note = new QLabel;
  head.note->setTextFormat(Qt::PlainText);
  head.note->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  line->addWidget(letter);
  line->addWidget(head.name);
  line->addWidget(head.steps);
  line->addWidget(head.note, 1);
  return head;
}

void ComparePane::setFirst(std::shared_ptr<const LoadedProfile> profile) {
  comparison_.setA(std::move(profile));
  follow();
}

void ComparePane::setTheme(const Theme& theme) {
  const LoadedProfile* const b = comparison_.b();
  if (b == nullptr || b->model().theme() == theme) return;
  b->setTheme(theme);
  if (second_ != nullptr) second_->redraw();
}

void ComparePane::follow() {
  const bool isThere = comparison_.stage() != RunComparison::Stage::kNone;
  const bool isReading = comparison_.stage() == RunComparison::Stage::kReading;
  const bool hasBoth = comparison_.a() != nullptr && comparison_.b() != nullptr;
  if (second_ != nullptr && !hasBoth) closeSecond();
  setVisible(isThere);
  if (second_ == nullptr && hasBoth) openSecond();
  headA_.bar->setVisible(second_ != nullptr);
  cancel_->setVisible(isReading);
  isReading ? progress_.start() : progress_.stop();
  describe();
  emit changed();
}

void ComparePane::openSecond() {
  const LoadedProfile& b = *comparison_.b();
  const Theme& theme = comparison_.a()->model().theme();
  if (!(b.model().theme() == theme)) b.setTheme(theme);
  second_ = new ChartWidget(nullptr, ChartRole::kUnder);
  second_->setAccessibleName(tr("Chart of run B"));
  static_cast<QVBoxLayout*>(layout())->addWidget(second_, 1);
  second_->addOverlay(std::make_unique<Tints>(comparison_, WhichRun::kB));
  // Two runs need the room that other lanes take.
  if (chart_.rowState() == RowState()) chart_.setRowState(withFoldedRanks(*chart_.model()));
  charts_.show(*second_, b.model(), [this] { return offset_; });
  second_->setLegend(legendBeside(*chart_.model(), b.model()));
  connect(second_, &ChartWidget::stepShown, this, [this](std::size_t step) {
    if (stepOfA_) chooseSteps(*stepOfA_, step);
  });
  connect(second_, &ChartWidget::selectionChanged, this,
          [this] { selectTwin(*second_, chart_, WhichRun::kB); });
  fillSteps(*headA_.steps, *comparison_.a());
  fillSteps(*headB_.steps, b);
  const auto ofA = indexOfMedian(*chart_.model());
  const auto ofB = indexOfMedian(b.model());
  if (ofA && ofB) return chooseSteps(*ofA, *ofB);
  offset_ = b.model().span().begin - chart_.model()->span().begin;
  chart_.widenTime(shifted(b.model().span(), -offset_));
  charts_.follow();
}

void ComparePane::closeSecond() {
  stepOfA_.reset();
  stepOfB_.reset();
  offset_ = 0;
  second_->hide();
  charts_.clear(*second_);
  second_->deleteLater();
  second_ = nullptr;
  if (chart_.rowState() == withFoldedRanks(*chart_.model())) chart_.setRowState({});
  chart_.widenTime({});
  chart_.viewport()->update();
}

void ComparePane::fillSteps(QComboBox& box, const LoadedProfile& profile) {
  const auto median = indexOfMedian(profile.model());
  box.clear();
  QStringList texts;
  for (const StepSpan& step : profile.model().steps()) {
    texts.push_back(
        tr("step %1, %2")
            .arg(QString::fromStdString(numberText(step)), lengthText(step.end - step.begin)));
    if (median && static_cast<std::size_t>(texts.size()) == *median + 1) {
      texts.back() += tr(" (median)");
    }
  }
  box.addItems(texts);
  box.setVisible(!texts.isEmpty());
}

void ComparePane::describe() {
  const auto setName = [](const Header& head, const LoadedProfile* profile) {
    const QString name = profile == nullptr ? QString() : QString::fromStdString(profile->name());
    head.name->setText(QFileInfo(name).fileName().isEmpty() ? name : QFileInfo(name).fileName());
    head.name->setToolTip(name);
  };
  setName(headA_, comparison_.a());
  setName(headB_, comparison_.b());
  headB_.steps->setVisible(second_ != nullptr && headB_.steps->count() > 0);
  QString note;
  switch (comparison_.stage()) {
    case RunComparison::Stage::kNone: break;
    case RunComparison::Stage::kReading: {
      const ProfileLoader::Progress at = comparison_.loader().progress();
      note = at.bytesInAll > 0
                 ? tr("reading the second run, %1 %").arg(100 * at.bytesRead / at.bytesInAll)
                 : tr("reading the second run …");
      break;
    }
    case RunComparison::Stage::kWaiting: note = tr("finding the causes of idle time …"); break;
    case RunComparison::Stage::kComparing: note = tr("comparing …"); break;
    case RunComparison::Stage::kDone: break;
  }
  if (second_ != nullptr && stepOfA_ && stepOfB_) {
    const StepSpan& a = chart_.model()->steps()[*stepOfA_];
    const StepSpan& b = second_->model()->steps()[*stepOfB_];
    note = differenceText(a.end - a.begin, b.end - b.begin) +
           (note.isEmpty() ? QString() : "   " + note);
  }
  headB_.note->setText(note);
  headA_.note->setText(second_ != nullptr && !stepOfA_
                           ? tr("without steps, so both runs begin together")
                           : QString());
}

// One chart follows the other.

void ComparePane::chooseSteps(std::size_t ofA, std::size_t ofB) {
  if (second_ == nullptr || ofA >= chart_.model()->steps().size() ||
      ofB >= second_->model()->steps().size()) {
    return;
  }
  pairSteps(ofA, ofB);
  const StepSpan& a = chart_.model()->steps()[ofA];
  const StepSpan& b = second_->model()->steps()[ofB];
  chart_.showTime(a.begin, std::max(a.end, b.end - offset_));
}

void ComparePane::pairSteps(std::size_t ofA, std::size_t ofB) {
  stepOfA_ = ofA;
  stepOfB_ = ofB;
  const ChartModel& a = *chart_.model();
  const ChartModel& b = *second_->model();
  offset_ = b.steps()[ofB].begin - a.steps()[ofA].begin;
  headA_.steps->setCurrentIndex(static_cast<int>(ofA));
  headB_.steps->setCurrentIndex(static_cast<int>(ofB));
  chart_.widenTime(shifted(b.span(), -offset_));
  charts_.follow();
  comparison_.setSteps(a.steps()[ofA], b.steps()[ofB]);
  describe();
  emit changed();
}

/// A command has gone to a step of A: B shows the one that is as far from its step.
void ComparePane::followStep(std::size_t ofA) {
  if (second_ == nullptr || !stepOfA_ || ofA == *stepOfA_) return;
  const auto count = static_cast<std::ptrdiff_t>(second_->model()->steps().size());
  const std::ptrdiff_t ofB = static_cast<std::ptrdiff_t>(*stepOfB_) +
                             static_cast<std::ptrdiff_t>(ofA) -
                             static_cast<std::ptrdiff_t>(*stepOfA_);
  if (ofB < 0 || ofB >= count) {
    headB_.note->setText(tr("run B has no step beside this one"));
    return;
  }
  pairSteps(ofA, static_cast<std::size_t>(ofB));
}

// Twins.

void ComparePane::selectTwin(ChartWidget& from, ChartWidget& to, WhichRun run) {
  if (isSelecting_) return;
  isSelecting_ = true;
  std::optional<ChartHit> hit;
  const JobTwins* const twins = comparison_.twins();
  if (twins != nullptr && from.selection()) {
    const JobTwins::Twins* const found =
        twins->twinsOf(run, {from.selection()->row, from.selection()->event});
    const WhichRun other = run == WhichRun::kA ? WhichRun::kB : WhichRun::kA;
    if (found != nullptr) hit = hitOn(twins->jobsOf(*found, other).front());
  }
  if (hit || to.selection()) to.selectInPlace(hit);
  isSelecting_ = false;
  emit changed();
}

std::optional<std::size_t> ComparePane::differenceAt() const {
  const JobTwins* const twins = comparison_.twins();
  if (twins == nullptr || !chart_.selection()) return std::nullopt;
  const JobTwins::Twins* const at =
      twins->twinsOf(WhichRun::kA, {chart_.selection()->row, chart_.selection()->event});
  if (at == nullptr) return std::nullopt;
  const auto& all = twins->byDifference();
  const auto found = std::find(all.begin(), all.end(), at - twins->twins().data());
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

QString ComparePane::textOf(const JobTwins::Twins& twins) const {
  const JobTwins* const all = comparison_.twins();
  const auto ofA = all->jobsOf(twins, WhichRun::kA);
  const auto ofB = all->jobsOf(twins, WhichRun::kB);
  const auto name = [](const ChartWidget& chart, const JobSpot& job) {
    constexpr int kAnyWidth = 1 << 20;
    return QString::fromStdString(cellLabel(chart.model()->timeline(), *job.event, kAnyWidth,
                                            [](std::string_view) { return 1; }));
  };
  QString text = name(chart_, ofA.front());
  if (ofA.size() > 1) text += tr(" and %1 more").arg(ofA.size() - 1);
  const QString other = name(*second_, ofB.front());
  const int rank = chart_.model()->rows()[ofA.front().row].rank;
  const int rankOfB = second_->model()->rows()[ofB.front().row].rank;
  text += tr(" on rank %1").arg(rank);
  if (other != name(chart_, ofA.front()) || ofB.size() != ofA.size() || rank != rankOfB) {
    text += tr(" (in B %1%2 on rank %3)")
                .arg(other, ofB.size() > 1 ? tr(" and %1 more").arg(ofB.size() - 1) : QString())
                .arg(rankOfB);
  }
  return tr("%1: %2 in A, %3 in B, %4")
      .arg(text, lengthText(twins.a), lengthText(twins.b), differenceText(twins.a, twins.b));
}

QString ComparePane::selectionText() const {
  const JobTwins* const twins = comparison_.twins();
  if (twins == nullptr || !chart_.selection()) return {};
  const JobTwins::Twins* const at =
      twins->twinsOf(WhichRun::kA, {chart_.selection()->row, chart_.selection()->event});
  return at == nullptr ? tr("The selected job has no twin in this step of run B") : textOf(*at);
}

void ComparePane::goToNextDifference() {
  const auto at = differenceAt();
  goToDifference(at ? static_cast<int>(*at) + 1 : 0);
}

void ComparePane::goToPreviousDifference() {
  const auto at = differenceAt();
  if (at && *at > 0) goToDifference(static_cast<int>(*at) - 1);
}

void ComparePane::goToDifference(int place) {
  const JobTwins* const twins = comparison_.twins();
  if (second_ == nullptr || twins == nullptr || place < 0) return;
  const auto& all = twins->byDifference();
  if (static_cast<std::size_t>(place) >= all.size()) return;
  const JobTwins::Twins& wanted = twins->twins()[all[static_cast<std::size_t>(place)]];
  const JobSpot ofA = twins->jobsOf(wanted, WhichRun::kA).front();
  const JobSpot ofB = twins->jobsOf(wanted, WhichRun::kB).front();
  chart_.goTo(hitOn(ofA));
  const Nanoseconds begin = ofB.event->begin - offset_;
  const Nanoseconds end = ofB.event->end - offset_;
  const TimeAxis axis = chart_.view().axis;
  if (begin < axis.begin() || end > axis.end()) {
    chart_.showTime(std::min(begin, ofA.event->begin), std::max(end, ofA.event->end));
  }
  charts_.bringRowIntoView(*second_, ofB.row);
}

}  // namespace pipetrace
