#pragma once

#include <QFrame>
#include <QLineEdit>
#include <QMenuBar>
#include <QString>
#include <QTreeWidget>
#include <functional>
#include <vector>

#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// Something to pick from a list.
struct PickerEntry {
  QString text;
  QString detail;             ///< at the right, such as the key of a command
  std::function<void()> run;  ///< what picking it does
};

/// A list over the top of a window, cut down to what fits the letters that one types. Up and Down
/// choose, Enter or a click picks, Esc or a click elsewhere closes it. It gives the keys back to
/// the widget that had them.
class Picker : public QFrame {
  Q_OBJECT

 public:
  /// Entries for a text that was typed, such as a time; they stand before those that fit.
  using Interpret = std::function<std::vector<PickerEntry>(const QString& typed)>;

  /// A child of `window`.
  explicit Picker(QWidget* window);

  /// Opens with these entries, and `prompt` where one types.
  void open(const QString& prompt, std::vector<PickerEntry> entries, Interpret interpret = {});

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill();
  void place();
  void choose(int distance);
  void pick();
  void close();

  QLineEdit* typed_;
  QTreeWidget* list_;
  std::vector<PickerEntry> entries_;
  Interpret interpret_;
  std::vector<PickerEntry> shown_;
  QWidget* focusBefore_ = nullptr;
};

/// The commands of the menus that are enabled now, each with its keys.
std::vector<PickerEntry> commandEntries(const QMenuBar& menus, const ChartWidget& chart);

/// The rows of a chart; picking one scrolls to it. Rows of the compute lanes come first.
std::vector<PickerEntry> rowEntries(ChartWidget& chart);

/// The slowest step, the one of median length, and all steps.
std::vector<PickerEntry> stepEntries(ChartWidget& chart);

/// The place that a text such as "12.5 ms", "+3 ms" or "step 7" means; nothing for other texts.
std::vector<PickerEntry> placeEntries(ChartWidget& chart, const QString& typed);

}  // namespace pipetrace
