#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QVBoxLayout>
#include <memory>

#include "viewer/export/export_picture.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// Asks what to export, in which form and where to, with a preview, and writes it. It stays open
/// when writing fails, and says why. Accepted: options().path is written.
class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  enum class What { kView, kStep, kSteps, kAll };

  /// `seen`: the stretch of time that the chart shows. `folder`: where files go at first.
  ExportDialog(std::shared_ptr<const LoadedProfile> profile, Timeline::Span seen,
               const QString& folder, QWidget* parent = nullptr);
  /// Pictures have these rows; without a call those with which a run is opened.
  void setRows(RowState rows) { rows_ = std::move(rows); }

  /// Pictures can show critical paths; without a call, or with null, they cannot.
  void setExplanation(std::shared_ptr<const Explanation> explanation);

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
  RowState rows_;
  std::shared_ptr<const Explanation> explanation_;
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
  QLineEdit* file_;
  QLabel* preview_;
  QLabel* size_;
  QLabel* problem_;
  QPushButton* export_;
  QString replaced_;  // a file that may be replaced: the user was asked
  QTimer delay_;      // between a change and the preview
};

}  // namespace pipetrace
