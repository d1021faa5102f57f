#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QPushButton>
#include <QStackedWidget>
#include <QTreeWidget>
#include <memory>

#include "viewer/chart_widget.h"
#include "viewer/profile_loader.h"

namespace pipetrace {

/// The window of pipe-view: the chart, the selected job, a status bar. A message takes the place of
/// the chart while there is no profile, or when none could be read.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  /// `align` is as for loadProfile().
  explicit MainWindow(AlignBy align = AlignBy::kBest);

  /// Reads files or folders as one profile, on another thread.
  void open(const QStringList& inputs);

  ChartWidget* chart() const { return chart_; }
  const LoadedProfile* profile() const { return profile_.get(); }
  /// The message in the chart's place; empty while there is a chart.
  QString message() const;

 public slots:
  void chooseFile();
  void chooseFolder();
  void chooseExport();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void addMenus();
  void addPanes();
  void showMessage(const QString& text, bool isBusy);
  void showProfile(std::shared_ptr<const LoadedProfile> profile);
  void showFailure(const QString& message);
  void updateRange();
  void updateSelection();
  void showKeys();

  std::shared_ptr<const LoadedProfile> profile_;
  QStackedWidget* pages_ = nullptr;
  QWidget* messagePage_ = nullptr;
  QLabel* message_ = nullptr;
  QWidget* busy_ = nullptr;
  ChartWidget* chart_ = nullptr;
  QTreeWidget* details_ = nullptr;
  QPushButton* goToCulprit_ = nullptr;
  QPushButton* goBack_ = nullptr;
  QDockWidget* detailsDock_ = nullptr;
  bool hasSelection_ = false;
  QLabel* summary_ = nullptr;
  QLabel* selected_ = nullptr;
  QLabel* range_ = nullptr;
  QLabel* findings_ = nullptr;
  QAction* export_ = nullptr;
  QString opening_;
  AlignBy align_;
  ProfileLoader loader_;  // the last member, so that it stops first
};

}  // namespace pipetrace
