#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QStackedWidget>
#include <QTemporaryDir>
#include <memory>

#include "viewer/causes/causes.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/commands/picker.h"
#include "viewer/panels/details_panel.h"
#include "viewer/panels/findings_panel.h"
#include "viewer/panels/statistics_panel.h"
#include "viewer/panels/waiting_panel.h"
#include "viewer/run/profile_loader.h"
#include "viewer/run/run_watcher.h"
#include "viewer/search/search_bar.h"
#include "viewer/start/start_page.h"
#include "viewer/window/elided_label.h"
#include "viewer/window/theme_choice.h"
#include "viewer/window/window_memory.h"

namespace pipetrace {

/// The window of pipe-view: the chart, the selected job, a status bar. While there is no profile,
/// or when none could be read, the start page takes the place of the chart, or a message.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  /// `align` is as for loadProfile(). The window comes back as `memory` has it.
  explicit MainWindow(AlignBy align = AlignBy::kBest, WindowMemory memory = {});
  ~MainWindow() override;

  /// Reads files or folders as one profile, on another thread.
  void open(const QStringList& inputs);

  /// Shows a run that goes on, whose logs are these files or in these folders. It replaces the
  /// profile once the run has a step. Shows a message where they cannot be followed.
  void follow(const QStringList& inputs);
  /// Searches for `query` and goes to its first match, as soon as there is a profile.
  void find(const QString& query);

  ChartWidget* chart() const { return chart_; }
  const LoadedProfile* profile() const { return profile_.get(); }
  std::shared_ptr<const LoadedProfile> sharedProfile() const { return profile_; }
  RecentFiles& recentFiles() { return recent_; }
  /// The reasons for the profile's idle time; null until they are found.
  const Explanation* explanation() const { return explanation_.get(); }
  /// The message in the chart's place; empty while there is a chart.
  QString message() const;

 public slots:
  void chooseFile();
  void chooseFolder();
  void chooseExport();
  /// Opens a simulated run, to try the viewer with.
  void openSample();
  /// Puts what is seen of the chart on the clipboard, at the resolution of the screen.
  void copyPicture();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void addMenus();
  void addPanes();
  void addPanels();
  void addStart();
  void fillRecentMenu();
  void rememberSeen();
  void showAsRemembered();
  void addSearch();
  void addSearchCommands(QMenu* edit);
  void addDragSwitch(QMenu* view);
  void addPlaceCommands(QMenu* go);
  void addHelpCommands(QMenu* help);
  void showMessage(const QString& text, bool isBusy);
  void showStart(const QString& problem);
  void showProfile(std::shared_ptr<const LoadedProfile> profile);
  void showBubbles();
  void showSummary();
  void cancelLoading();
  void describeProfile();
  void forgetExplanation();
  void showExplanation(std::shared_ptr<const Explanation> explanation);
  void showFailure(const QString& message);
  void updateRange();
  void updateSelection();
  void updateArea();
  void updateWaiting();
  void updateTheme();
  void useTheme(const LoadedProfile& profile) const;
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
  Causes* causes_ = nullptr;
  DetailsPanel* details_ = nullptr;
  FindingsPanel* findingsPanel_ = nullptr;
  QDockWidget* findingsDock_ = nullptr;
  QDockWidget* detailsDock_ = nullptr;
  ChartSearch* search_ = nullptr;
  SearchBar* searchBar_ = nullptr;
  Picker* picker_ = nullptr;
  bool hasSelection_ = false;
  QDockWidget* statisticsDock_ = nullptr;
  WaitingPanel* waitingPanel_ = nullptr;
  QDockWidget* waitingDock_ = nullptr;
  bool hasShownWaiting_ = false;
  bool hasArea_ = false;
  bool hasShownStatistics_ = false;
  bool isLive_ = false;    // the profile is of a run that goes on
  bool hasGrown_ = false;  // the run that is followed has a profile
  ElidedLabel* summary_ = nullptr;
  QLabel* selected_ = nullptr;
  QLabel* range_ = nullptr;
  QLabel* findings_ = nullptr;
  QAction* export_ = nullptr;
  QAction* copyPicture_ = nullptr;
  QMenu* recentMenu_ = nullptr;
  StartPage* start_ = nullptr;
  QString opening_;
  QStringList openingInputs_;
  QStringList shownInputs_;
  WindowMemory memory_;
  RecentFiles recent_;
  std::unique_ptr<QTemporaryDir> sample_;  // its logs, while the window lives
  AlignBy align_;
  ThemeChoice themes_;
  RunWatcher watcher_;
  ProfileLoader loader_;  // the last member, so that it stops first
};

}  // namespace pipetrace
