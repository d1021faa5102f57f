#include "viewer/chart/chart_commands.h"

#include <QCoreApplication>

#include "viewer/chart/chart_widget.h"
#include "viewer/chart/row_commands.h"

namespace pipetrace {
namespace {

QString text(const char* words) { return QCoreApplication::translate("ChartCommands", words); }

/// Adds actions to one chart.
class Adder {
 public:
  explicit Adder(ChartWidget& chart) : chart_(chart) {}

  /// The command works wherever the focus is in the window. A field for text keeps its letters.
  template <typename Do>
  void add(const char* name, CommandMenu menu, const char* words, const QList<QKeySequence>& keys,
           Do what) {
    auto* action = new QAction(text(words), &chart_);
    action->setObjectName(QString::fromLatin1(name));
    action->setData(static_cast<int>(menu));
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WindowShortcut);
    QObject::connect(action, &QAction::triggered, &chart_, what);
    chart_.addAction(action);
  }

  /// The same command, by a key that means something else outside the chart.
  template <typename Do>
  void addKey(QKeySequence key, Do what) {
    auto* action = new QAction(&chart_);
    action->setData(-1);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QObject::connect(action, &QAction::triggered, &chart_, what);
    chart_.addAction(action);
  }

 private:
  ChartWidget& chart_;
};

}  // namespace

void addCommands(ChartWidget& chart) {
  ChartWidget* c = &chart;
  const auto earlier = [c] { c->panBy(-1); };
  const auto later = [c] { c->panBy(1); };
  const auto in = [c] { c->zoomIn(); };
  const auto out = [c] { c->zoomOut(); };
  const auto fit = [c] { c->fit(); };
  using enum CommandMenu;
  Adder adder(chart);
  adder.add("zoom-in", kView, "Zoom in", {Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal}, in);
  adder.add("zoom-out", kView, "Zoom out", {Qt::Key_S, Qt::Key_Minus}, out);
  adder.add("earlier", kView, "Move to earlier times", {Qt::Key_A}, earlier);
  adder.add("later", kView, "Move to later times", {Qt::Key_D}, later);
  adder.add("whole-run", kView, "Whole run", {Qt::Key_F}, fit);
  adder.add("next-step", kGo, "Next step", {Qt::Key_BracketRight}, [c] { c->showNextStep(); });
  adder.add("previous-step", kGo, "Previous step", {Qt::Key_BracketLeft},
            [c] { c->showPreviousStep(); });
  adder.add("culprit", kGo, "Culprit of the bubble", {Qt::Key_C}, [c] { c->showCulprit(); });
  adder.add("back-to-bubble", kGo, "Back to the bubble", {Qt::Key_Backspace},
            [c] { c->showBubble(); });
  addRowCommands(chart);
  adder.addKey(Qt::Key_Left, earlier);
  adder.addKey(Qt::Key_Right, later);
  adder.addKey(Qt::Key_Home, fit);
  adder.addKey(Qt::Key_Escape, [c] { c->clearSelection(); });
}

QList<QAction*> commandsOf(const ChartWidget& chart, CommandMenu menu) {
  QList<QAction*> found;
  for (QAction* action : chart.actions()) {
    if (action->data().toInt() == static_cast<int>(menu)) found.push_back(action);
  }
  return found;
}

}  // namespace pipetrace
