#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QToolBar>

#include "viewer/search/chart_search.h"

namespace pipetrace {

/// The bar to search in: the query, "3 of 120", the ways to the next and the previous match. Enter
/// goes to the next match, Shift+Enter to the previous one, Esc ends the search.
class SearchBar : public QToolBar {
  Q_OBJECT

 public:
  /// The search must outlive it.
  explicit SearchBar(ChartSearch& search);

  /// Shows the bar and takes the keys. The last query is selected, ready to be typed
  /// over.
  void open();
  /// Ends the search, if there is one.
  void close();
  /// Shows the bar with this query and goes to its first match. Leaves the keys where they are.
  void find(const QString& query);

 signals:
  /// The search is over; the chart should get the keys.
  void closed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void update();
  QString countText() const;

  ChartSearch& search_;
  QLineEdit* query_;
  QLabel* count_;
  QLabel* problem_;
  QTimer typing_;
};

}  // namespace pipetrace
