#pragma once

#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <QWidget>

#include "viewer/start/recent_files.h"

namespace pipetrace {

/// The page of the window while nothing is open: ways to open something, the files that were open
/// last, and what went wrong. Files that are gone are grey and say so.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  /// `recent` must outlive the page.
  explicit StartPage(RecentFiles& recent, QWidget* parent = nullptr);

  /// Shows a text over the list, such as why a file could not be opened; nothing for an empty one.
  void showProblem(const QString& text);
  /// Shows whether something that hangs on the mouse may be dropped.
  void showDropTarget(bool isTarget);
  QString problem() const { return problem_->text(); }

 signals:
  void fileWanted();
  void folderWanted();
  void sampleWanted();
  void opened(QStringList inputs);

 protected:
  void showEvent(QShowEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void addButtons(QVBoxLayout* column);
  void addList(QVBoxLayout* column);
  void fill();
  void openItem(const QTreeWidgetItem* item);
  void removeCurrent();
  QStringList inputsOf(const QTreeWidgetItem* item) const;

  RecentFiles& recent_;
  QLabel* problem_;
  QLabel* dropZone_;
  QLabel* heading_;
  QTreeWidget* list_;
};

}  // namespace pipetrace
