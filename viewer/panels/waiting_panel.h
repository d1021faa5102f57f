#pragma once

#include <QAbstractTableModel>
#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QTableView>
#include <QWidget>
#include <vector>

#include "analysis/present/waiting_map.h"
#include "viewer/causes/causes.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// A heat map of what ranks wait inside jobs, in the colours of a theme. On the GUI thread.
class WaitingTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  void show(WaitingMap map);
  void setTheme(const Theme& theme);

  const WaitingMap& map() const { return map_; }
  Nanoseconds timeAt(const QModelIndex& cell) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  /// The table as comma-separated values with a header. Times are whole nanoseconds.
  QString csv() const;

 private:
  WaitingMap map_;
  Theme theme_ = themeOf(ThemeName::kPaper);
};

/// The legend of a heat map: its colours from no time to the longest.
class HeatScale : public QWidget {
  Q_OBJECT

 public:
  HeatScale();

  void show(Nanoseconds least, Nanoseconds longest);
  void setTheme(const Theme& theme);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString from_ = QStringLiteral("0");
  QString text_;  // the longest time
  Theme theme_ = themeOf(ThemeName::kPaper);
};

/// Heat maps of what ranks wait for each other inside jobs, as in pages of reports: by place in the
/// job, micro-batch or step (waitingMaps()); and of their own time by micro-batch (ownTimeMap()). A
/// click or Enter on a cell goes to the job that waited longest there; Ctrl+C copies the map. Where
/// nobody waits inside jobs it says so. On the GUI thread.
class WaitingPanel : public QWidget {
  Q_OBJECT

 public:
  /// Both must outlive it.
  WaitingPanel(ChartWidget& chart, Causes& causes);

  /// Whether the run has such maps. False while causes are not known.
  bool isThere() const { return !maps_.empty(); }
  /// Takes over the colours of the chart.
  void updateTheme();

 public slots:
  /// Puts the map on the clipboard as comma-separated values.
  void copyCsv();

 signals:
  void isThereChanged();

 private:
  void layOut();
  void update();
  void choose(int map);
  void go(const QModelIndex& cell);

  ChartWidget& chart_;
  Causes& causes_;
  std::shared_ptr<const GraphPlaces> places_;
  std::vector<WaitingMap> maps_;
  WaitingTable table_;
  QComboBox* by_;
  QLabel* words_;
  HeatScale* scale_;
  QWidget* head_;
  QTableView* view_;
  QLabel* nothing_;
  QStackedWidget* pages_;
};

}  // namespace pipetrace
