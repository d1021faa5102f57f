#include "viewer/commands/picker.h"

#include <QApplication>
#include <QCoreApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "chart/search/fuzzy_match.h"
#include "chart/search/place_text.h"
#include "chart/steps/step_span.h"
#include "trace/text/decimal_time.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/commands/command_groups.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostShown = 300;
constexpr int kMostRows = 14;  // without scrolling
constexpr int kWidth = 620;

QString pickerText(const char* words) { return QCoreApplication::translate("Picker", words); }

QString lengthOf(Nanoseconds time) { return QString::fromStdString(formatDuration(time)); }

PickerEntry stepEntry(ChartWidget& chart, const StepSpan& step, const QString& text) {
  const Nanoseconds origin = chart.model()->span().begin;
  const QString detail = pickerText("at %1, %2 long")
                             .arg(lengthOf(std::max<Nanoseconds>(step.begin - origin, 0)),
                                  lengthOf(step.end - step.begin));
  return {text, detail, [c = &chart, step] { c->showTime(step.begin, step.end); }};
}

}  // namespace

Picker::Picker(QWidget* window) : QFrame(window), typed_(new QLineEdit), list_(new QTreeWidget) {
  setFrameShape(QFrame::StyledPanel);
  setFrameShadow(QFrame::Raised);
  setAutoFillBackground(true);
  typed_->installEventFilter(this);
  typed_->setClearButtonEnabled(true);
  list_->setColumnCount(2);
  list_->setHeaderHidden(true);
  list_->setRootIsDecorated(false);
  list_->setUniformRowHeights(true);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setAllColumnsShowFocus(true);
  list_->setStyleSheet(QStringLiteral("QTreeWidget::item { padding: 3px 2px; }"));
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  column->setSpacing(6);
  column->addWidget(typed_);
  column->addWidget(list_);
  connect(typed_, &QLineEdit::textChanged, this, &Picker::fill);
  connect(list_, &QTreeWidget::itemClicked, this, &Picker::pick);
  window->installEventFilter(this);
  hide();
}

void Picker::open(const QString& prompt, std::vector<PickerEntry> entries, Interpret interpret) {
  if (!isVisible()) focusBefore_ = QApplication::focusWidget();
  entries_ = std::move(entries);
  interpret_ = std::move(interpret);
  typed_->setPlaceholderText(prompt);
  typed_->setAccessibleName(prompt);
  list_->setAccessibleName(prompt);
  typed_->clear();
  fill();
  show();
  raise();
  typed_->setFocus(Qt::PopupFocusReason);
}

void Picker::fill() {
  const QString typed = typed_->text().trimmed();
  const std::string letters = typed.toStdString();
  std::vector<std::pair<int, std::size_t>> fitting;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const QString whole = entries_[i].text + ' ' + entries_[i].detail;
    auto score = fuzzyMatch(letters, entries_[i].text.toStdString());
    // The text at the right counts too, but less.
    if (!score && (score = fuzzyMatch(letters, whole.toStdString()))) *score -= 100;
    if (score) fitting.emplace_back(-*score, i);
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  fitting.resize(std::min(fitting.size(), kMostShown));
  shown_.clear();
  if (interpret_ && !typed.isEmpty()) shown_ = interpret_(typed);
  for (const auto& [score, i] : fitting) shown_.push_back(entries_[i]);
  list_->clear();
  for (const PickerEntry& entry : shown_) {
    auto* item = new QTreeWidgetItem(list_, {entry.text, entry.detail});
    item->setForeground(1, palette().brush(QPalette::PlaceholderText));
    item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
  }
  if (shown_.empty()) {
    auto* item = new QTreeWidgetItem(list_, {tr("Nothing fits “%1”").arg(typed)});
    item->setFlags(Qt::NoItemFlags);
  } else {
    list_->setCurrentItem(list_->topLevelItem(0));
  }
  place();
}

void Picker::place() {
  const QRect room = parentWidget()->rect();
  const int rowHeight = std::max(list_->sizeHintForRow(0), fontMetrics().height());
  const int rows = std::clamp(list_->topLevelItemCount(), 1, kMostRows);
  list_->setFixedHeight(rows * rowHeight + 2 * list_->frameWidth());
  const int width = std::min(kWidth, room.width() - 24);
  const int top = std::min(48, room.height() / 8);
  resize(width, std::min(layout()->sizeHint().height(), room.height() - top));
  move((room.width() - width) / 2, top);
}

void Picker::choose(int distance) {
  const int last = static_cast<int>(shown_.size()) - 1;
  if (last < 0) return;
  const int row = list_->indexOfTopLevelItem(list_->currentItem()) + distance;
  list_->setCurrentItem(list_->topLevelItem(std::clamp(row, 0, last)));
}

void Picker::close() {
  if (!isVisible()) return;
  const bool hadFocus = isAncestorOf(QApplication::focusWidget());
  hide();
  if (hadFocus && focusBefore_ != nullptr) focusBefore_->setFocus(Qt::PopupFocusReason);
}

void Picker::pick() {
  const int row = list_->indexOfTopLevelItem(list_->currentItem());
  if (row < 0 || static_cast<std::size_t>(row) >= shown_.size()) return;
  const std::function<void()> run = shown_[static_cast<std::size_t>(row)].run;
  close();
  if (run) run();
}

bool Picker::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget()) {
    if (event->type() == QEvent::Resize && isVisible()) place();
    return false;
  }
  if (event->type() == QEvent::FocusOut) {
    // The whole window may have lost the focus, or a menu opened: then it stays.
    const QWidget* now = QApplication::focusWidget();
    if (now != nullptr && now != typed_ && !isAncestorOf(now)) {
      focusBefore_ = nullptr;  // someone else has the keys already
      close();
    }
    return false;
  }
  if (event->type() != QEvent::KeyPress) return false;
  switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Up: choose(-1); return true;
    case Qt::Key_Down: choose(1); return true;
    case Qt::Key_PageUp: choose(-kMostRows); return true;
    case Qt::Key_PageDown: choose(kMostRows); return true;
    case Qt::Key_Return:
    case Qt::Key_Enter: pick(); return true;
    case Qt::Key_Escape: close(); return true;
    default: return false;
  }
}

std::vector<PickerEntry> commandEntries(const QMenuBar& menus, const ChartWidget& chart) {
  std::vector<PickerEntry> entries;
  for (const CommandGroup& group : commandGroups(menus)) {
    for (QAction* action : group.commands) {
      const bool lacksModel = action->parent() == &chart && chart.model() == nullptr;
      if (!action->isEnabled() || lacksModel) continue;
      QString text = group.title + ": " + plainText(*action);
      if (action->isCheckable()) text += action->isChecked() ? " ✓" : "";
      entries.push_back(
          {text, keysOf(*action).join(QStringLiteral("  ")), [action] { action->trigger(); }});
    }
  }
  return entries;
}

std::vector<PickerEntry> rowEntries(ChartWidget& chart) {
  std::vector<PickerEntry> entries;
  std::vector<PickerEntry> others;
  if (chart.model() == nullptr) return entries;
  const std::vector<ChartRow>& rows = chart.model()->rows();
  QString stages;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].rankLabel.empty()) stages = QString::fromStdString(rows[i].rankDetail);
    // A rank by its number alone is its compute row, not one of the others with shorter names.
    const QString lane = QString::fromStdString(rows[i].lane);
    const QString rank = pickerText("rank %1").arg(rows[i].rank);
    const bool isCompute = rows[i].isCompute;
    const QString text = isCompute ? rank : rank + ", " + lane;
    const QString detail =
        !isCompute || stages.isEmpty() ? (isCompute ? lane : stages) : stages + ", " + lane;
    (isCompute ? entries : others).push_back({text, detail, [c = &chart, i] { c->showRow(i); }});
  }
  entries.insert(entries.end(), others.begin(), others.end());
  return entries;
}

std::vector<PickerEntry> stepEntries(ChartWidget& chart) {
  std::vector<PickerEntry> entries;
  if (chart.model() == nullptr || chart.model()->steps().empty()) return entries;
  const std::vector<StepSpan>& steps = chart.model()->steps();
  const StepSpan slowest = *slowestStep(steps);
  const StepSpan median = *medianStep(steps);
  entries.push_back(stepEntry(chart, slowest, pickerText("Slowest step (%1)").arg(slowest.step)));
  entries.push_back(
      stepEntry(chart, median, pickerText("Step of median length (%1)").arg(median.step)));
  for (const StepSpan& step : steps) {
    entries.push_back(stepEntry(
        chart, step, pickerText("Step %1").arg(QString::fromStdString(numberText(step)))));
  }
  return entries;
}

std::vector<PickerEntry> placeEntries(ChartWidget& chart, const QString& typed) {
  const auto place = placeOf(typed.toStdString());
  if (!place || chart.model() == nullptr) return {};
  ChartWidget* c = &chart;
  const ChartModel& model = *chart.model();
  if (place->kind == TypedPlace::Kind::kStep) {
    for (const StepSpan& step : model.steps()) {
      if (step.step == place->step) {
        return {
            stepEntry(chart, step,
                      pickerText("Go to step %1").arg(QString::fromStdString(numberText(step))))};
      }
    }
    return {{pickerText("There is no step %1").arg(place->step), {}, {}}};
  }
  if (place->kind == TypedPlace::Kind::kMove) {
    const bool isBack = place->time < 0;
    const QString text = isBack ? pickerText("Move %1 back") : pickerText("Move %1 on");
    const ViewState now = chart.viewState();
    const Nanoseconds middle = now.begin + (now.end - now.begin) / 2 + place->time;
    return {{text.arg(lengthOf(isBack ? -place->time : place->time)), {}, [c, middle] {
               c->showInstant(middle);
             }}};
  }
  const Nanoseconds time = model.span().begin + place->time;
  const bool isOutside = time > model.span().end;
  return {{pickerText("Go to %1").arg(lengthOf(place->time)),
           isOutside ? pickerText("after the end of the run") : QString(),
           [c, time] { c->showInstant(time); }}};
}

}  // namespace pipetrace
