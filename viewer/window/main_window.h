#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QStackedWidget>
#include <memory>

#include "viewer/chart/chart_widget.h"
#include "viewer/panels/details_panel.h"
#include "viewer/run/profile_loader.h"
#include "viewer/run/run_watcher.h"

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

  /// Shows a run that goes on, whose logs are these files or in these folders. It replaces the
  /// profile once the run has a step. Shows a message where they cannot be followed.
  void follow(const QStringList& inputs);

  ChartWidget* chart() const { return chart_; }
  const LoadedProfile* profile() const { return profile_.get(); }
  /// The reasons for the profile's idle time; null until they are found.
  const Explanation* explanation() const { return explanation_.get(); }
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
  void addPanels();
  void showMessage(const QString& text, bool isBusy);
  void showProfile(std::shared_ptr<const LoadedProfile> profile);
  void showBubbles();
  void showSummary();
  void cancelLoading();
  void describeProfile();
  void showExplanation(std::shared_ptr<const Explanation> explanation);
  void showFailure(const QString& message);
  void updateRange();
  void updateSelection();
  void showKeys();
  void connectWatcher();
  void showGrown();
  void showEndOfRun(const QString& error);

  std::shared_ptr<const LoadedProfile> profile_;
  std::shared_ptr<const Explanation> explanation_;  // refers to the profile
  QStackedWidget* pages_ = nullptr;
  QWidget* messagePage_ = nullptr;
  QLabel* message_ = nullptr;
  QWidget* busy_ = nullptr;
  ChartWidget* chart_ = nullptr;
  DetailsPanel* details_ = nullptr;
  QDockWidget* detailsDock_ = nullptr;
  bool hasSelection_ = false;
  bool isLive_ = false;    // the profile is of a run that goes on
  bool hasGrown_ = false;  // the run that is followed has a profile
  QLabel* summary_ = nullptr;
  QLabel* selected_ = nullptr;
  QLabel* range_ = nullptr;
  QLabel* findings_ = nullptr;
  QAction* export_ = nullptr;
  QString opening_;
  AlignBy align_;
  RunWatcher watcher_;
  ProfileLoader loader_;  // the last member, so that it stops first
};

}  // namespace pipetrace
