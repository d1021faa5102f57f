#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QStackedWidget>
#include <QTemporaryDir>
#include <QToolButton>
#include <memory>
#include <set>

#include "viewer/causes/causes.h"
#include "viewer/chart/chart_stack.h"
#include "viewer/commands/picker.h"
#include "viewer/compare/compare_pane.h"
#include "viewer/marks/marks_panel.h"
#include "viewer/panels/details_panel.h"
#include "viewer/panels/findings_panel.h"
#include "viewer/panels/ranks_panel.h"
#include "viewer/panels/statistics_panel.h"
#include "viewer/panels/trust_panel.h"
#include "viewer/panels/waiting_panel.h"
#include "viewer/plan/plan_ghost.h"
#include "viewer/run/profile_loader.h"
#include "viewer/run/run_watcher.h"
#include "viewer/search/search_bar.h"
#include "viewer/start/start_page.h"
#include "viewer/what_if/what_if_panel.h"
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
  /// Puts a second run under the one that is shown, or that is being opened.
  void compareWith(const QStringList& inputs);
  /// Searches for `query` and goes to its first match, as soon as there is a profile.
  void find(const QString& query);

  ChartWidget* chart() const { return chart_; }
  /// It, and the charts under it.
  ChartStack* charts() const { return charts_; }
  ComparePane* comparePane() const { return pane_; }
  PlanGhost* planGhost() const { return ghost_; }
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
  /// Asks for the second run of compareWith().
  void chooseSecond();
  void chooseSecondFolder();
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
  void addWhatIf();
  void addEscape(QDockWidget& dock);
  void addDockRules(QDockWidget& dock);
  void growWhenSeen(QDockWidget& dock);
  int tabsHeight() const;
  QDockWidget* addTab(const QString& title, const char* name, QWidget* panel);
  void addComparison();
  void addPlan();
  void updateComparison();
  void showComparison();
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
  void showTrust();
  void cancelLoading();
  void describeProfile();
  void forgetExplanation();
  void showExplanation(std::shared_ptr<const Explanation> explanation);
  void showFailure(const QString& message);
  void showWarning(const QString& message);
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
  ChartStack* charts_ = nullptr;  // it, the predicted one and that of a second run
  WhatIfPanel* whatIf_ = nullptr;
  QDockWidget* whatIfDock_ = nullptr;
  ComparePane* pane_ = nullptr;
  QDockWidget* compareDock_ = nullptr;
  PlanGhost* ghost_ = nullptr;
  QDockWidget* planDock_ = nullptr;
  QAction* showPlan_ = nullptr;
  QList<QAction*> comparing_;    // the commands of a second run
  QList<QAction*> differences_;  // the ways from difference to difference
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
  RanksPanel* ranksPanel_ = nullptr;
  QDockWidget* ranksDock_ = nullptr;
  QDockWidget* waitingDock_ = nullptr;
  std::set<const QDockWidget*> grown_;  // growWhenSeen() did
  bool hasArea_ = false;
  int statisticsHeight_ = 0;  // of the statistics the last time; 0: they were not shown yet
  int heightBeforeArea_ = 0;  // of the findings
  bool isLive_ = false;       // the profile is of a run that goes on
  bool hasGrown_ = false;     // the run that is followed has a profile
  ElidedLabel* summary_ = nullptr;
  QLabel* selected_ = nullptr;
  QLabel* range_ = nullptr;
  QToolButton* trust_ = nullptr;
  TrustPanel* trustPanel_ = nullptr;
  MarksPanel* marksPanel_ = nullptr;
  QDockWidget* marksDock_ = nullptr;
  QDockWidget* trustDock_ = nullptr;
  QAction* export_ = nullptr;
  QAction* copyPicture_ = nullptr;
  QMenu* recentMenu_ = nullptr;
  StartPage* start_ = nullptr;
  QString opening_;
  QStringList openingInputs_;
  QStringList shownInputs_;
  QStringList exportChoices_;  // of the last picture
  WindowMemory memory_;
  RecentFiles recent_;
  std::unique_ptr<QTemporaryDir> sample_;  // its logs, while the window lives
  AlignBy align_;
  ThemeChoice themes_;
  RunWatcher watcher_;
  ProfileLoader loader_;  // the last member, so that it stops first
};

}  // namespace pipetrace
