#include "viewer/chart/chart_commands.h"

#include <QAction>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QVariant>
#include <algorithm>
#include <functional>
#include <utility>

#include "chart/rows/row_edits.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/chart/row_labels.h"

namespace pipetrace {
namespace {

constexpr int kFrame = 16;          // ms
constexpr qint64 kTap = 160;        // ms; a shorter press is one step
constexpr qint64 kLongestGap = 50;  // ms; after a slow frame the movement does not jump

QAction* add(ChartWidget& chart, const char* name, const char* words, const QKeySequence& key,
             const std::function<void()>& what, CommandMenu menu = CommandMenu::kRows) {
  auto* action = new QAction(QCoreApplication::translate("RowCommands", words), &chart);
  action->setObjectName(QString::fromLatin1(name));
  action->setData(static_cast<int>(menu));
  action->setShortcut(key);
  action->setShortcutContext(Qt::WindowShortcut);
  QObject::connect(action, &QAction::triggered, &chart, what);
  chart.addAction(action);
  return action;
}

void group(ChartWidget& chart, RowGrouping grouping) {
  RowState state = chart.rowState();
  state.grouping = grouping;
  chart.setRowState(std::move(state));
}

/// Gives the chart the commands of its rows (CommandMenu::kRows), which act on the current row of
/// the labels. Part of addCommands().
void addRowCommands(ChartWidget& chart) {
  ChartWidget* c = &chart;
  add(chart, "filter-rows", "Filter rows", Qt::CTRL | Qt::SHIFT | Qt::Key_F,
      [c] { c->rowFilter()->setFocus(); });
  add(chart, "row-labels", "Go to the row labels", Qt::CTRL | Qt::SHIFT | Qt::Key_L,
      [c] { c->rowLabels()->setFocus(); });
  add(chart, "fold-row", "Fold or unfold the row", {}, [c] { c->rowLabels()->foldOrUnfold(); });
  add(chart, "fold-all", "Fold all rows", {}, [c] { c->foldAllRows(true); });
  add(chart, "unfold-all", "Unfold all rows", {}, [c] { c->foldAllRows(false); });
  add(chart, "pin-row", "Pin the row on top, or put it back", {},
      [c] { c->rowLabels()->pinOrUnpin(); });
  add(chart, "row-up", "Move the row up", Qt::ALT | Qt::Key_Up,
      [c] { c->rowLabels()->moveCurrent(-1); });
  add(chart, "row-down", "Move the row down", Qt::ALT | Qt::Key_Down,
      [c] { c->rowLabels()->moveCurrent(1); });
  add(chart, "hide-row", "Hide the row", {}, [c] { c->rowLabels()->hideCurrent(); });
  add(chart, "show-all-rows", "Show all rows", {},
      [c] { c->setRowState(withAllShown(c->rowState())); });
  add(chart, "rows-by-rank", "Rows by rank", {}, [c] { group(*c, RowGrouping::kByRank); });
  add(chart, "rows-by-stage", "Rows by stage", {}, [c] { group(*c, RowGrouping::kByStage); });
  add(chart, "rows-by-pipeline", "Rows by pipeline", {},
      [c] { group(*c, RowGrouping::kByPipeline); });
  add(chart, "rows-by-replica", "Rows by replica", {}, [c] { group(*c, RowGrouping::kByReplica); });
  add(chart, "rows-by-tensor-peers", "Rows by tensor-parallel peers", {},
      [c] { group(*c, RowGrouping::kByTensorPeers); });
  add(chart, "rows-by-data-peers", "Rows by data-parallel peers", {},
      [c] { group(*c, RowGrouping::kByDataPeers); });
  add(chart, "rows-as-opened", "Rows as they were opened", {}, [c] { c->setRowState({}); });
  using enum CommandMenu;
  QAction* higher = add(
      chart, "higher-rows", "Higher rows", Qt::CTRL | Qt::Key_Plus, [c] { c->stepRowHeight(true); },
      kRowHeight);
  higher->setShortcuts({Qt::CTRL | Qt::Key_Plus, Qt::CTRL | Qt::Key_Equal});
  add(
      chart, "lower-rows", "Lower rows", Qt::CTRL | Qt::Key_Minus, [c] { c->stepRowHeight(false); },
      kRowHeight);
  add(
      chart, "usual-rows", "Usual height", Qt::CTRL | Qt::Key_0,
      [c] { c->setRowHeight(RowState::kUsualHeight); }, kRowHeight);
  add(
      chart, "full-rows", "Full height, with all lanes", {},
      [c] { c->setRowHeight(RowHeights{}.compute); }, kRowHeight);
  add(
      chart, "all-rows-in-view", "All ranks in view", Qt::CTRL | Qt::Key_9,
      [c] { c->setRowHeight(RowState::kAllInView); }, kRowHeight);
  add(
      chart, "run-order", "Order of the run", {},
      [c] { c->setRowState(withRunOrder(c->rowState())); }, kRowOrder);
}

constexpr const char* kMoreKeys = "moreKeys";  // a property of actions
constexpr double kZoomSpeed = 10;              // notches of the wheel a second
constexpr double kPanStep = 0.1;               // widths of the view
constexpr double kPanSpeed = 1.2;              // widths of the view a second

QString text(const char* words) { return QCoreApplication::translate("ChartCommands", words); }

/// Adds actions to one chart.
class Adder {
 public:
  explicit Adder(ChartWidget& chart) : chart_(chart), held_(*new HeldKeys(&chart)) {}

  /// The command works wherever the focus is in the window. A field for text keeps its letters.
  template <typename Do>
  QAction* add(const char* name, CommandMenu menu, const char* words,
               const QList<QKeySequence>& keys, Do what) {
    auto* action = new QAction(text(words), &chart_);
    action->setObjectName(QString::fromLatin1(name));
    action->setData(static_cast<int>(menu));
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WindowShortcut);
    QObject::connect(action, &QAction::triggered, &chart_, what);
    chart_.addAction(action);
    return action;
  }

  /// A command that takes a step, and goes on smoothly while its key is held.
  template <typename Do, typename Move>
  QAction* addHeld(const char* name, const char* words, const QList<QKeySequence>& keys, Do step,
                   Move move) {
    HeldKeys* held = &held_;
    const auto what = [held, step, move] {
      step();
      held->holdOn(move);
    };
    QAction* action = add(name, CommandMenu::kView, words, keys, what);
    action->setAutoRepeat(false);
    return action;
  }

  /// The same command, by a key that means something else outside the chart.
  void addKey(QKeySequence key, QAction* command) {
    auto* action = new QAction(&chart_);
    action->setData(-1);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    action->setAutoRepeat(command->autoRepeat());
    QObject::connect(action, &QAction::triggered, command, &QAction::trigger);
    chart_.addAction(action);
    command->setProperty(kMoreKeys, command->property(kMoreKeys).toStringList()
                                        << key.toString(QKeySequence::NativeText));
  }

 private:
  ChartWidget& chart_;
  HeldKeys& held_;  // a child of the chart
};

/// "Undo zoom" names what it would take back.
void followHistory(ChartWidget* c, QAction* undo, QAction* redo) {
  const auto update = [c, undo, redo] {
    const auto name = [](QAction* action, const QString& word, const QString& what) {
      action->setText(what.isEmpty() ? word : word + " " + what);
      action->setEnabled(!what.isEmpty());
    };
    name(undo, text("&Undo"), c->history().undoText());
    name(redo, text("&Redo"), c->history().redoText());
  };
  QObject::connect(&c->history(), &ViewHistory::changed, undo, update);
  update();
}

}  // namespace

HeldKeys::HeldKeys(QObject* parent) : QObject(parent) {
  frames_.setTimerType(Qt::PreciseTimer);
  frames_.setInterval(kFrame);
  connect(&frames_, &QTimer::timeout, this, &HeldKeys::step);
  QCoreApplication::instance()->installEventFilter(this);
}

void HeldKeys::holdOn(std::function<void(double)> move) {
  if (!isDown_) return;
  move_ = std::move(move);
  held_.start();
  movedAt_ = 0;
  frames_.start();
}

void HeldKeys::step() {
  const qint64 now = held_.elapsed();
  const qint64 gap = std::min(now - std::exchange(movedAt_, now), kLongestGap);
  if (now >= kTap) move_(static_cast<double>(gap) / 1000);
}

void HeldKeys::stop() {
  isDown_ = false;
  frames_.stop();
}

bool HeldKeys::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::ShortcutOverride:
    case QEvent::KeyPress:
      if (!static_cast<QKeyEvent*>(event)->isAutoRepeat()) isDown_ = true;
      break;
    case QEvent::KeyRelease:
      if (!static_cast<QKeyEvent*>(event)->isAutoRepeat()) stop();
      break;
    case QEvent::ApplicationDeactivate:
    case QEvent::WindowDeactivate: stop(); break;
    default: break;
  }
  return QObject::eventFilter(watched, event);
}

void addCommands(ChartWidget& chart) {
  ChartWidget* c = &chart;
  using enum CommandMenu;
  Adder adder(chart);
  QAction* undo =
      adder.add("undo", kEdit, "&Undo", {QKeySequence("Ctrl+Z")}, [c] { c->history().undo(); });
  QAction* redo =
      adder.add("redo", kEdit, "&Redo", {QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")},
                [c] { c->history().redo(); });
  followHistory(c, undo, redo);
  adder.add("undo-view", kEdit, "Undo the last zoom or move", {Qt::Key_Backspace},
            [c] { c->history().undoView(); });
  adder.addKey(Qt::Key_Escape, adder.add("clear-selection", kEdit, "Select nothing", {},
                                         [c] { c->clearSelection(); }));

  adder.addHeld(
      "zoom-in", "Zoom in", {Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal}, [c] { c->zoomBy(1); },
      [c](double s) { c->zoomBy(kZoomSpeed * s); });
  adder.addHeld(
      "zoom-out", "Zoom out", {Qt::Key_S, Qt::Key_Minus}, [c] { c->zoomBy(-1); },
      [c](double s) { c->zoomBy(-kZoomSpeed * s); });
  QAction* earlier = adder.addHeld(
      "earlier", "Move to earlier times", {Qt::Key_A}, [c] { c->panBy(-kPanStep); },
      [c](double s) { c->panBy(-kPanSpeed * s); });
  QAction* later = adder.addHeld(
      "later", "Move to later times", {Qt::Key_D}, [c] { c->panBy(kPanStep); },
      [c](double s) { c->panBy(kPanSpeed * s); });
  addRowCommands(chart);
  adder.addKey(Qt::Key_Left, earlier);
  adder.addKey(Qt::Key_Right, later);
  adder.add("fit", kView, "Fit the selection; again: the whole run", {Qt::Key_F},
            [c] { c->fitSelection(); });
  adder.addKey(Qt::Key_Home,
               adder.add("whole-run", kView, "Whole run", {Qt::Key_0}, [c] { c->fit(); }));

  adder
      .add("critical-path", kView, "Critical path", {Qt::SHIFT | Qt::Key_P},
           [c](bool isShown) { emit c->criticalPathWanted(isShown); })
      ->setCheckable(true);

  adder.addKey(Qt::Key_PageDown,
               adder.add("next-step", kGo, "Next step", {Qt::Key_N}, [c] { c->showNextStep(); }));
  adder.addKey(Qt::Key_PageUp, adder.add("previous-step", kGo, "Previous step", {Qt::Key_P},
                                         [c] { c->showPreviousStep(); }));
  adder.add("median-step", kGo, "Step of median length", {}, [c] { c->showMedianStep(); });
  adder.add("slowest-step", kGo, "Slowest step", {}, [c] { c->showSlowestStep(); });
  adder.add("area-of-job", kEdit, "Select the area of the job", {Qt::Key_R},
            [c] { c->selectAreaOfJob(); });
  adder.add("area-of-step", kEdit, "Select the step as an area", {Qt::SHIFT | Qt::Key_R},
            [c] { c->selectAreaOfStep(); });
  adder.add("waited-for", kGo, "What it waited for last", {Qt::Key_BracketLeft},
            [c] { emit c->waitedForWanted(); });
  adder.add("waiting", kGo, "What waited for it first", {Qt::Key_BracketRight},
            [c] { emit c->waitingWanted(); });
  adder.add("previous-in-lane", kGo, "Previous job of the lane", {Qt::Key_Comma},
            [c] { c->goToPreviousInLane(); });
  adder.add("next-in-lane", kGo, "Next job of the lane", {Qt::Key_Period},
            [c] { c->goToNextInLane(); });
  adder.add("longest-bubble", kGo, "Longest bubble; again: the next one", {Qt::Key_B},
            [c] { c->goToShorterBubble(); });
  adder.add("longer-bubble", kGo, "The longer bubble before", {QKeySequence("Shift+B")},
            [c] { c->goToLongerBubble(); });
  adder.add("culprit", kGo, "Culprit of the bubble", {Qt::Key_C}, [c] { c->showCulprit(); });
  adder.add("back-to-bubble", kGo, "Back to the bubble", {QKeySequence("Shift+C")},
            [c] { c->showBubble(); });
}

QList<QAction*> commandsOf(const ChartWidget& chart, CommandMenu menu) {
  QList<QAction*> found;
  for (QAction* action : chart.actions()) {
    if (action->data().toInt() == static_cast<int>(menu)) found.push_back(action);
  }
  return found;
}

void addRowCommandsTo(QMenu& menu, const ChartWidget& chart) {
  menu.addActions(commandsOf(chart, CommandMenu::kRows));
  menu.addSeparator();
  menu.addMenu(QCoreApplication::translate("RowCommands", "Row &height"))
      ->addActions(commandsOf(chart, CommandMenu::kRowHeight));
  menu.addMenu(QCoreApplication::translate("RowCommands", "&Sort by"))
      ->addActions(commandsOf(chart, CommandMenu::kRowOrder));
}

QStringList keysOf(const QAction& action) {
  QStringList keys;
  for (const QKeySequence& key : action.shortcuts()) {
    const QString text = key.toString(QKeySequence::NativeText);
    if (!keys.contains(text)) keys.push_back(text);
  }
  return keys + action.property(kMoreKeys).toStringList();
}

}  // namespace pipetrace
