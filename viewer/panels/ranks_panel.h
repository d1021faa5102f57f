#pragma once

#include <QAbstractTableModel>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/causes/causes.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// The ranks of an explained run: how slow their own work is, how long they are idle, and of what
/// class that is. Sums over the steps that count. On the GUI thread.
class RanksTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRank, kStage, kWork, kBusy, kIdle, kRatio, kFirstClass };

  /// Shows an explanation, which it keeps; nothing for null.
  void show(std::shared_ptr<const GraphPlaces> places);
  void setTheme(const Theme& theme);

  const ExplainedRank& rankAt(int row) const { return *lines_[static_cast<std::size_t>(row)].rank; }
  /// The class of a column; nothing for the others.
  std::optional<BubbleClass> classAt(int column) const;
  /// What a rank has in a column: a number to sort by, in nanoseconds if it is a time.
  double valueOf(const ExplainedRank& rank, int column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;
  /// The table in its order as comma-separated values with a header. Times are whole nanoseconds.
  QString csv() const;

 private:
  struct Line {
    const ExplainedRank* rank = nullptr;  // of places_
    QString stages;                       // "stage 3", "stages 0, 4; replica 1"
  };
  QString textOf(const Line& line, int column) const;

  std::shared_ptr<const GraphPlaces> places_;
  std::vector<Line> lines_;
  std::vector<BubbleClass> classes_;  // that some rank has
  Nanoseconds longest_ = 0;           // idle time of a rank
  Theme theme_ = themeOf(ThemeName::kPaper);
};

/// The table of ranks. Rows are links: a double click or Enter goes to the rank's row; in the
/// column of a class also to its longest bubble of that class. A click on a heading sorts; Ctrl+C
/// copies.
class RanksPanel : public QWidget {
  Q_OBJECT

 public:
  /// Both must outlive it.
  RanksPanel(ChartWidget& chart, Causes& causes);

 public slots:
  /// Takes over the colours of the chart.
  void updateTheme();
  void copyCsv();

 private:
  void update();
  void go(const QModelIndex& cell);
  void sortRows();

  ChartWidget& chart_;
  Causes& causes_;
  RanksTable table_;
  std::shared_ptr<const GraphPlaces> places_;
  QTableView* view_;
  QLabel* words_;
  QPushButton* sortRows_;
};

}  // namespace pipetrace
