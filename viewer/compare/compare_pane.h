#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <memory>
#include <optional>

#include "viewer/chart/chart_stack.h"
#include "viewer/compare/run_comparison.h"

namespace pipetrace {

/// The chart of a second run, under the main one of a stack while there is a second: a step of one
/// above a step of the other. A selected job selects its twin.
///
/// A pane of the stack, which it adds itself to. On the GUI thread.
class ComparePane : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePane(ChartStack& charts);
  ~ComparePane() override;

  /// The run that the main chart shows, or null: before it shows another one. A second run goes
  /// unless this is the first one.
  void setFirst(std::shared_ptr<const LoadedProfile> profile);
  RunComparison& comparison() { return comparison_; }
  const RunComparison& comparison() const { return comparison_; }
  /// Null while there is no second picture.
  ChartWidget* second() const { return second_; }
  /// The colours of the second chart.
  void setTheme(const Theme& theme);

  /// Puts a step of A above one of B, indices in their models, and shows it.
  void chooseSteps(std::size_t ofA, std::size_t ofB);
  std::optional<std::size_t> stepOfA() const { return stepOfA_; }
  std::optional<std::size_t> stepOfB() const { return stepOfB_; }
  /// The times of B that stand under those of A: this much later.
  Nanoseconds offset() const { return offset_; }

  /// The place of the selected job in byDifference(); nothing where it has none.
  std::optional<std::size_t> differenceAt() const;
  /// What the selected job and its twin take: "2F5: A 10.00 ms, B 12.00 ms, +2.00 ms (+20.0 %)".
  QString selectionText() const;
  /// The same of jobs that do the same work.
  QString textOf(const JobTwins::Twins& twins) const;

 public slots:
  /// Selects the job with the longest difference, in both charts; from one of them the next.
  void goToNextDifference();
  void goToPreviousDifference();
  /// Selects these twins, an index for JobTwins::byDifference(), and shows both.
  void goToDifference(int place);

 signals:
  /// The second chart is there, or is no longer; steps, twins or the selected twins are others.
  void changed();

 private:
  struct Header {
    QWidget* bar = nullptr;
    QLabel* name = nullptr;
    QComboBox* steps = nullptr;
    QLabel* note = nullptr;
  };

  Header addHeader(const QString& mark, const QString& words);
  void follow();
  void openSecond();
  void closeSecond();
  void describe();
  void fillSteps(QComboBox& box, const LoadedProfile& profile);
  void pairSteps(std::size_t ofA, std::size_t ofB);
  void followStep(std::size_t ofA);
  void selectTwin(ChartWidget& from, ChartWidget& to, WhichRun run);

  ChartStack& charts_;
  ChartWidget& chart_;  // the main one
  ChartWidget* second_ = nullptr;
  RunComparison comparison_;
  Header headA_;
  Header headB_;
  QPushButton* cancel_ = nullptr;
  QTimer progress_;
  std::optional<std::size_t> stepOfA_;
  std::optional<std::size_t> stepOfB_;
  Nanoseconds offset_ = 0;
  bool isSelecting_ = false;  // a selection follows the other
};

}  // namespace pipetrace
