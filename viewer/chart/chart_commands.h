#pragma once

#include <QAction>
#include <QElapsedTimer>
#include <QList>
#include <QMenu>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <functional>

namespace pipetrace {

/// Goes on with a movement for as long as its key is held, frame by frame. The repeats of a
/// keyboard are too few and too late for the eye. On the GUI thread.
class HeldKeys : public QObject {
  Q_OBJECT

 public:
  explicit HeldKeys(QObject* parent);

  /// Call it when a key's command has made its first step. `move` gets the seconds since it was
  /// called last, until the key is released. A command that did not come from a key ends there.
  void holdOn(std::function<void(double seconds)> move);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void step();
  void stop();

  std::function<void(double)> move_;
  QTimer frames_;
  QElapsedTimer held_;
  qint64 movedAt_ = 0;  // ms of held_
  bool isDown_ = false;
};

class ChartWidget;

/// Gives the chart its commands: an action for each, with its keys. Menus, the list of keys, the
/// palette and the chart's own keys come from these. QObject::objectName() is the command's name;
/// its data() is the menu it stands in.
void addCommands(ChartWidget& chart);

/// Where a chart's command stands in the menus.
enum class CommandMenu { kEdit, kView, kGo, kRows, kRowHeight, kRowOrder };

/// The chart's commands of a menu, in their order.
QList<QAction*> commandsOf(const ChartWidget& chart, CommandMenu menu);
/// Fills a menu with the commands of rows; those of their height and order are in sub-menus.
void addRowCommandsTo(QMenu& menu, const ChartWidget& chart);

/// All keys of a command, as texts: those of the action, and those that only work in the chart.
QStringList keysOf(const QAction& action);

}  // namespace pipetrace
