#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QToolButton>
#include <QWidget>
#include <functional>
#include <memory>
#include <vector>

#include "ingest/load_run.h"
#include "viewer/what_if/advice_cards.h"
#include "viewer/what_if/change_line.h"
#include "viewer/what_if/figures_table.h"
#include "viewer/what_if/predicted_chart.h"
#include "viewer/what_if/what_if_work.h"

namespace pipetrace {

/// What a run would be with changes: sliders and fields for these, the figures and the chart of the
/// prediction, advice. While a slider moves, the median step is predicted; then the whole run is.
/// On the GUI thread.
class WhatIfPanel : public QWidget {
  Q_OBJECT

 public:
  /// A run that can be asked about.
  struct Subject {
    std::shared_ptr<const LoadedProfile> profile;
    QStringList inputs;  ///< for command lines
    AlignBy align = AlignBy::kBest;
  };

  /// The prediction gets its place under the main chart of `charts`, the measured one.
  explicit WhatIfPanel(ChartStack& charts);
  ~WhatIfPanel() override;

  /// The chart of the prediction. It must not outlive the panel.
  PredictedChart& predictedChart() const { return *predicted_; }

  /// The run on the screen can be asked about from now on. The changes are those of `remembered`
  /// (text()); what it cannot read is left out.
  void open(Subject subject, const QString& remembered = {});
  /// There is none any more, or not yet.
  void close();
  bool isOpen() const { return subject_.profile != nullptr; }
  /// Whether the panel is used: work on a run begins with that.
  void setUsed(bool isUsed);

  const WhatIfChanges& changes() const { return changes_; }
  /// Makes these the changes; that can be undone.
  void setChanges(const WhatIfChanges& changes);
  /// The changes, to be remembered.
  QString text() const { return QString::fromStdString(changes_.text()); }
  /// The command that asks for the same; empty without a run.
  QString command() const;
  WhatIfWork& work() { return work_; }
  std::shared_ptr<const AnswerResult> answer() const { return answer_; }
  /// Writes the predicted run, or its plan for a name that ends in .csv. Throws Error.
  void save(const QString& path) const;

 public slots:
  void undo();
  void redo();
  void resetAll();
  void copyCommand();
  void chooseFile();
  void updateTheme() { predicted_->updateTheme(); }

 signals:
  /// Something for the status bar.
  void told(const QString& what);

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  /// A field with a name and a button that takes its change back.
  struct Row {
    QLabel* name;
    QWidget* field;
    QToolButton* reset;  ///< null: the field has one
    std::function<void(WhatIfChanges&)> clear;
    QString option;  ///< of `pipe-trace what-if`, as answers name it; may be empty
  };

  void layOut();
  QWidget* makeTimes();
  QWidget* makePlan();
  QWidget* makeButtons();
  void addRow(QGridLayout& grid, const QString& name, QWidget* field, const QString& help,
              std::function<void(WhatIfChanges&)> clear, const char* option);
  void addLine(QGridLayout& grid, const QString& name, ChangeLine* line, const QString& help);
  void connectLines();
  void connectPlan();
  void connectWork();
  void begin();
  /// Shows what can be changed, once that is known.
  void showFacts();
  void chooseChanged();
  void showChanges();
  void showLine(ChangeLine& line, const WhatIfChanges::Factor* factor);
  void edit(const std::function<void(WhatIfChanges&)>& change, bool isHeld = false);
  void changed(bool isHeld);
  void settle();
  void showMeasured();
  void showPreview(const PreviewResult& result);
  void showAnswer(std::shared_ptr<const AnswerResult> result);
  void showProblem(const QString& problem);
  QString withFieldNames(QString sentence) const;
  void showGrounds(const std::vector<std::string>& grounds, const QString& errors);
  void updateProgress();
  void updateButtons();
  int stageAt(int index) const;
  int rankAt(int index) const;
  WhatIfChanges::Link linkAt(int index) const;
  std::string kindAt(int index) const;

  PredictedChart* predicted_;
  WhatIfWork work_;
  Subject subject_;
  bool isUsed_ = false;
  bool hasBegun_ = false;
  bool isShowing_ = false;  // controls take over the changes
  WhatIfChanges changes_;
  WhatIfChanges settled_;  // the last ones that were no preview
  std::vector<WhatIfChanges> undo_;
  std::vector<WhatIfChanges> redo_;
  std::shared_ptr<const AnswerResult> answer_;  // about changes_
  QTimer settleSoon_;
  QTimer progressSoon_;

  QLabel* state_;
  QWidget* busy_;
  QProgressBar* progress_;
  FiguresTable* figures_;
  QListWidget* made_;
  ChangeLine* stage_;
  ChangeLine* rank_;
  ChangeLine* link_;
  ChangeLine* kind_;
  QDoubleSpinBox* linkTime_;
  QComboBox* launches_;
  QCheckBox* balance_;
  QLabel* noLinks_;
  QWidget* plan_;
  QLabel* noPlan_;
  QComboBox* schedule_;
  QComboBox* split_;
  QSpinBox* chunks_;
  QSpinBox* microBatches_;
  QCheckBox* keepBatch_;
  QLineEdit* depths_;
  QComboBox* lines_;
  QComboBox* order_;
  QLineEdit* partition_;
  QLineEdit* runPartition_;
  QLineEdit* limit_;
  AdviceCards* advice_;
  QLabel* grounds_;
  QPushButton* undoButton_;
  QPushButton* redoButton_;
  QPushButton* resetButton_;
  QPushButton* copyButton_;
  QPushButton* saveButton_;
  std::vector<Row> rows_;
};

}  // namespace pipetrace
