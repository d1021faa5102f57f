#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStringList>
#include <QTimer>
#include <QVBoxLayout>
#include <memory>

#include "chart/chart_view.h"
#include "viewer/export/export_picture.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// Asks what to export, in which form and where to, with a preview, and writes it. It stays open
/// when writing fails, and says why. Accepted: options().path is written.
class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  enum class What { kView, kStep, kSteps, kAll, kArea };

  /// `seen`: the stretch of time that the chart shows. `folder`: where files go at first.
  ExportDialog(std::shared_ptr<const LoadedProfile> profile, Timeline::Span seen,
               const QString& folder, QWidget* parent = nullptr);
  /// Pictures have these rows; without a call those with which a run is opened.
  void setRows(RowState rows) { rows_ = std::move(rows); }

  /// Offers an area, and the step that is asked for first. Call it before restore().
  void setSelected(const std::optional<ChartArea>& area, std::optional<int> step);
  /// What was chosen but for the file, the steps and the theme, to begin with it the next time.
  QStringList choices() const;
  /// Chooses that again. What cannot be chosen now stays as it is.
  void restore(const QStringList& choices);

  /// Pictures can show critical paths; without a call, or with null, they cannot.
  void setExplanation(std::shared_ptr<const Explanation> explanation);

  /// Pictures can show these; without a call there are none.
  void setMarks(std::vector<ChartMark> marks);
  /// Pictures have this run under the first one.
  void setSecond(SecondRun second) { second_ = std::move(second); }

  /// The export that the fields ask for.
  ExportOptions options() const;

 public slots:
  void accept() override;

 private:
  void addFields(QVBoxLayout* column);
  void addPart(QFormLayout* fields);
  void addForm(QFormLayout* fields);
  void addLooks(QFormLayout* fields);
  void addFile(QVBoxLayout* column, const QString& folder);
  void browse();
  void fieldsChanged();
  void drawPreview();
  void showProblem(const QString& text);

  std::shared_ptr<const LoadedProfile> profile_;
  Timeline::Span seen_;
  std::optional<ChartArea> area_;
  RowState rows_;
  std::shared_ptr<const Explanation> explanation_;
  std::vector<ChartMark> marksOfRun_;
  SecondRun second_;
  QComboBox* what_;
  QSpinBox* first_;
  QSpinBox* last_;
  QLabel* to_;
  QComboBox* format_;
  QSpinBox* width_;
  QSpinBox* height_;
  QComboBox* scale_;
  QComboBox* theme_;
  QCheckBox* dark_;
  QCheckBox* classes_;
  QCheckBox* path_;
  QCheckBox* marks_;
  QLineEdit* file_;
  QLabel* preview_;
  QLabel* size_;
  QLabel* problem_;
  QPushButton* export_;
  QString replaced_;  // a file that may be replaced: the user was asked
  QTimer delay_;      // between a change and the preview
};

}  // namespace pipetrace
