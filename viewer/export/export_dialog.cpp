#include "viewer/export/export_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMessageBox>
#include <algorithm>
#include <array>
#include <set>

#include "chart/rows/row_edits.h"
#include "chart/steps/legible_steps.h"
#include "trace/error.h"
#include "viewer/export/export_picture.h"
#include "viewer/words/theme_words.h"

namespace pipetrace {
namespace {

constexpr QSize kPreview(520, 380);
constexpr int kPreviewDelayMs = 120;
constexpr std::int64_t kSmoothPixels = 6'000'000;  // of larger pictures the preview is coarse
constexpr std::array kFormats = {".png", ".pdf", ".svg"};

QSpinBox* pixels(int least, int value, const QString& name) {
  auto* box = new QSpinBox;
  box->setRange(least, kMaxPictureSide);
  box->setSingleStep(100);
  box->setValue(value);
  box->setAccessibleName(name);
  return box;
}

/// Adds a row whose label leads to its first field.
void addRow(QFormLayout* fields, const QString& text, QWidget* first, QLayout* row) {
  auto* label = new QLabel(text);
  label->setBuddy(first);
  fields->addRow(label, row);
}

/// Without the ranks that have no row in the area, and without the other lanes that it leaves out.
RowState withRowsOf(RowState state, const ChartModel& model, const std::vector<std::size_t>& rows) {
  const RowTree& tree = model.rowTree(state.grouping);
  const std::set<std::size_t> wanted(rows.begin(), rows.end());
  std::set<int> ranks;
  for (const std::size_t row : rows) ranks.insert(model.rows()[row].rank);
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    const std::size_t node = tree.nodeOf(row);
    if (node == RowNode::kNone || wanted.contains(row)) continue;
    const bool isFirst = tree[node].kind == RowKind::kRank;
    if (isFirst && ranks.contains(model.rows()[row].rank)) continue;
    state = withHidden(std::move(state), tree, node);
  }
  return state;
}

QImage previewOf(const Drawing& drawing, double pixelRatio) {
  const QSize room = kPreview * pixelRatio;
  const double fits =
      std::min({1.0 * room.width() / drawing.width(), 1.0 * room.height() / drawing.height(), 1.0});
  const bool isSmooth = std::int64_t{drawing.width()} * drawing.height() <= kSmoothPixels;
  QImage image = imageOf(drawing, isSmooth ? 1 : fits);
  image = image.scaled(room.boundedTo(image.size()), Qt::KeepAspectRatio, Qt::SmoothTransformation);
  image.setDevicePixelRatio(pixelRatio);
  return image;
}

}  // namespace

ExportDialog::ExportDialog(std::shared_ptr<const LoadedProfile> profile, Timeline::Span seen,
                           const QString& folder, QWidget* parent)
    : QDialog(parent), profile_(std::move(profile)), seen_(seen) {
  setWindowTitle(tr("Export a picture"));
  auto* column = new QVBoxLayout;
  addFields(column);
  addFile(column, folder);
  column->addStretch();
  problem_ = new QLabel;
  problem_->setObjectName(QStringLiteral("problem"));
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(problem_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  export_ = buttons->addButton(tr("&Export"), QDialogButtonBox::AcceptRole);
  export_->setDefault(true);
  buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  connect(buttons, &QDialogButtonBox::accepted, this, &ExportDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &ExportDialog::reject);
  column->addWidget(buttons);

  preview_ = new QLabel;
  preview_->setObjectName(QStringLiteral("preview"));
  preview_->setFixedSize(kPreview + QSize(2, 2));
  preview_->setAlignment(Qt::AlignCenter);
  preview_->setFrameShape(QFrame::StyledPanel);
  preview_->setAccessibleName(tr("Preview"));
  size_ = new QLabel;
  size_->setAlignment(Qt::AlignCenter);
  auto* right = new QVBoxLayout;
  right->addWidget(preview_);
  right->addWidget(size_);
  right->addStretch();
  auto* row = new QHBoxLayout(this);
  row->addLayout(column);
  row->addSpacing(12);
  row->addLayout(right);

  delay_.setSingleShot(true);
  delay_.setInterval(kPreviewDelayMs);
  connect(&delay_, &QTimer::timeout, this, &ExportDialog::drawPreview);
  fieldsChanged();
  drawPreview();
  what_->setFocus();
}

void ExportDialog::setExplanation(std::shared_ptr<const Explanation> explanation) {
  explanation_ = std::move(explanation);
  path_->setEnabled(explanation_ != nullptr);
}

void ExportDialog::setSelected(const std::optional<ChartArea>& area, std::optional<int> step) {
  area_ = area;
  if (area_) {
    what_->insertItem(1, tr("The selected area"), static_cast<int>(What::kArea));
    what_->setCurrentIndex(1);
  }
  if (step) {
    first_->setValue(*step);
    last_->setValue(*step);
  }
}

QStringList ExportDialog::choices() const {
  return {QString::number(what_->currentData().toInt()),
          QString::number(width_->value()),
          QString::number(height_->value()),
          QString::number(format_->currentIndex()),
          QString::number(scale_->currentIndex()),
          QString::number(classes_->isChecked()),
          QString::number(path_->isChecked())};
}

void ExportDialog::restore(const QStringList& choices) {
  if (choices.size() != 7) return;
  const auto number = [&](qsizetype i) { return choices[i].toInt(); };
  // An area that is selected now is what is meant now.
  const int what = what_->findData(number(0));
  if (what >= 0 && !area_) what_->setCurrentIndex(what);
  width_->setValue(number(1));
  height_->setValue(number(2));
  format_->setCurrentIndex(std::clamp(number(3), 0, format_->count() - 1));
  scale_->setCurrentIndex(std::clamp(number(4), 0, scale_->count() - 1));
  classes_->setChecked(number(5) != 0);
  path_->setChecked(number(6) != 0 && path_->isEnabled());
}

void ExportDialog::setMarks(std::vector<ChartMark> marks) {
  marksOfRun_ = std::move(marks);
  marks_->setEnabled(!marksOfRun_.empty());
}

void ExportDialog::addFields(QVBoxLayout* column) {
  auto* fields = new QFormLayout;
  addPart(fields);
  addForm(fields);
  addLooks(fields);
  column->addLayout(fields);
}

/// The part of the run.
void ExportDialog::addPart(QFormLayout* fields) {
  what_ = new QComboBox;
  what_->setObjectName(QStringLiteral("what"));
  what_->addItem(tr("The time in view"), static_cast<int>(What::kView));
  first_ = new QSpinBox;
  last_ = new QSpinBox;
  const ChartModel& model = profile_->model();
  if (!model.steps().empty()) {
    what_->addItem(tr("A step"), static_cast<int>(What::kStep));
    if (model.steps().size() > 1) what_->addItem(tr("Steps"), static_cast<int>(What::kSteps));
    const StepChoice all = allSteps(model);
    const StepChoice legible = legibleSteps(model, PictureOptions().width);
    for (QSpinBox* box : {first_, last_}) {
      box->setRange(all.first, all.last);
      box->setMinimumWidth(64);
    }
    first_->setValue(legible.first);
    last_->setValue(legible.last);
  }
  what_->addItem(tr("The whole run"), static_cast<int>(What::kAll));
  first_->setObjectName(QStringLiteral("first step"));
  first_->setAccessibleName(tr("First step"));
  last_->setObjectName(QStringLiteral("last step"));
  last_->setAccessibleName(tr("Last step"));
  to_ = new QLabel(tr("to"));
  auto* steps = new QHBoxLayout;
  steps->addWidget(what_, 1);
  steps->addWidget(first_);
  steps->addWidget(to_);
  steps->addWidget(last_);
  addRow(fields, tr("&What"), what_, steps);
  what_->setAccessibleName(tr("What"));
  connect(what_, &QComboBox::currentIndexChanged, this, &ExportDialog::fieldsChanged);
  for (QSpinBox* box : {first_, last_}) {
    connect(box, &QSpinBox::valueChanged, this, &ExportDialog::fieldsChanged);
  }
}

/// Size and format.
void ExportDialog::addForm(QFormLayout* fields) {
  width_ = pixels(kMinPictureWidth, PictureOptions().width, tr("Width in pixels"));
  width_->setObjectName(QStringLiteral("width"));
  height_ = pixels(0, 0, tr("Height in pixels"));
  height_->setObjectName(QStringLiteral("height"));
  height_->setSpecialValueText(tr("as needed"));
  auto* size = new QHBoxLayout;
  size->addWidget(width_);
  size->addWidget(new QLabel(QStringLiteral("×")));
  size->addWidget(height_);
  size->addWidget(new QLabel(tr("pixels")));
  size->addStretch();
  addRow(fields, tr("&Size"), width_, size);

  format_ = new QComboBox;
  format_->setObjectName(QStringLiteral("format"));
  format_->addItems({tr("PNG, an image"), tr("PDF, for papers"), tr("SVG, for the web")});
  scale_ = new QComboBox;
  scale_->setObjectName(QStringLiteral("scale"));
  scale_->setAccessibleName(tr("Resolution"));
  for (const int times : {1, 2, 3, 4}) scale_->addItem(tr("%1 ×").arg(times), times);
  scale_->setToolTip(tr("pixels of the image for each pixel of the size"));
  auto* format = new QHBoxLayout;
  format->addWidget(format_, 1);
  format->addWidget(scale_);
  addRow(fields, tr("&Format"), format_, format);
  format_->setAccessibleName(tr("Format"));

  for (QSpinBox* box : {width_, height_}) {
    connect(box, &QSpinBox::valueChanged, this, &ExportDialog::fieldsChanged);
  }
  connect(format_, &QComboBox::currentIndexChanged, this, [this](int index) {
    const QFileInfo info(file_->text());
    file_->setText(info.path() + "/" + info.completeBaseName() +
                   kFormats[static_cast<std::size_t>(index)]);
    fieldsChanged();
  });
  connect(scale_, &QComboBox::currentIndexChanged, this, &ExportDialog::fieldsChanged);
}

/// Colours, and what is drawn.
void ExportDialog::addLooks(QFormLayout* fields) {
  const Theme& shown = profile_->model().theme();
  theme_ = new QComboBox;
  theme_->setObjectName(QStringLiteral("theme"));
  for (int i = 0; i < kThemeCount; ++i) {
    theme_->addItem(themeText(static_cast<ThemeName>(i)).remove('&'), i);
  }
  theme_->setCurrentIndex(static_cast<int>(shown.name));
  dark_ = new QCheckBox(tr("&Dark"));
  dark_->setObjectName(QStringLiteral("dark"));
  dark_->setChecked(shown.isDark);
  auto* colours = new QHBoxLayout;
  colours->addWidget(theme_, 1);
  colours->addWidget(dark_);
  addRow(fields, tr("&Theme"), theme_, colours);
  theme_->setAccessibleName(tr("Theme"));

  classes_ = new QCheckBox(tr("&Classes of bubbles"));
  classes_->setObjectName(QStringLiteral("classes"));
  classes_->setChecked(true);
  fields->addRow(QString(), classes_);
  path_ = new QCheckBox(tr("Critical &path"));
  path_->setObjectName(QStringLiteral("critical path"));
  path_->setToolTip(tr("known as soon as the findings are"));
  path_->setEnabled(false);  // until there is an explanation
  fields->addRow(QString(), path_);
  marks_ = new QCheckBox(tr("&Marks and notes"));
  marks_->setObjectName(QStringLiteral("marks"));
  marks_->setEnabled(false);  // until there are some
  fields->addRow(QString(), marks_);

  connect(theme_, &QComboBox::currentIndexChanged, this, &ExportDialog::fieldsChanged);
  for (QCheckBox* box : {dark_, classes_, path_, marks_}) {
    connect(box, &QCheckBox::toggled, this, &ExportDialog::fieldsChanged);
  }
}

void ExportDialog::addFile(QVBoxLayout* column, const QString& folder) {
  file_ = new QLineEdit;
  file_->setObjectName(QStringLiteral("file"));
  file_->setAccessibleName(tr("File"));
  file_->setMinimumWidth(280);
  QString name = QFileInfo(QString::fromStdString(profile_->name())).completeBaseName();
  if (name.isEmpty()) name = QStringLiteral("profile");
  file_->setText(folder + "/" + name + ".png");
  auto* browse = new QPushButton(tr("&Browse …"));
  browse->setAutoDefault(false);
  connect(browse, &QPushButton::clicked, this, &ExportDialog::browse);
  connect(file_, &QLineEdit::textChanged, this, [this] { problem_->clear(); });
  auto* row = new QHBoxLayout;
  row->addWidget(file_, 1);
  row->addWidget(browse);
  column->addLayout(row);
}

void ExportDialog::browse() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Export a picture"), file_->text(),
                                                    tr("Pictures (*.png *.pdf *.svg)"));
  if (path.isEmpty()) return;
  replaced_ = path;
  const auto ending = pictureEnding(path.toStdString());
  const auto known = std::find(kFormats.begin(), kFormats.end(), ending);
  if (known == kFormats.end()) {
    file_->setText(path + kFormats[static_cast<std::size_t>(format_->currentIndex())]);
    return;
  }
  format_->setCurrentIndex(static_cast<int>(known - kFormats.begin()));
  file_->setText(path);
}

ExportOptions ExportDialog::options() const {
  ExportOptions options;
  options.path = file_->text().toStdString();
  options.width = width_->value();
  if (height_->value() > 0) options.height = height_->value();
  options.scale = scale_->currentData().toInt();
  options.showsClasses = classes_->isChecked();
  options.showsCriticalPath = path_->isChecked();
  options.explanation = explanation_;
  if (marks_->isChecked()) options.marks = marksOfRun_;
  options.second = second_;
  options.theme = static_cast<ThemeName>(theme_->currentData().toInt());
  options.isDark = dark_->isChecked();
  options.rows = rows_;
  switch (static_cast<What>(what_->currentData().toInt())) {
    case What::kView: options.time = seen_; break;
    case What::kStep: options.steps = StepChoice{first_->value(), first_->value()}; break;
    case What::kSteps:
      options.steps = StepChoice{std::min(first_->value(), last_->value()),
                                 std::max(first_->value(), last_->value())};
      break;
    case What::kAll: options.isAll = true; break;
    case What::kArea:
      options.time = area_->time;
      options.rows = withRowsOf(options.rows, profile_->model(), area_->rows);
      break;
  }
  return options;
}

void ExportDialog::fieldsChanged() {
  const auto what = static_cast<What>(what_->currentData().toInt());
  first_->setVisible(what == What::kStep || what == What::kSteps);
  to_->setVisible(what == What::kSteps);
  last_->setVisible(what == What::kSteps);
  scale_->setVisible(format_->currentIndex() == 0);
  delay_.start();
}

void ExportDialog::showProblem(const QString& text) {
  problem_->setText(text);
  export_->setEnabled(text.isEmpty());
}

void ExportDialog::drawPreview() {
  delay_.stop();
  try {
    const ExportOptions wanted = options();
    const ColoursForExport colours(*profile_, wanted);
    const auto picture = drawingOf(*profile_, wanted);
    preview_->setPixmap(QPixmap::fromImage(previewOf(*picture, devicePixelRatioF())));
    const bool isPng = format_->currentIndex() == 0;
    const double scale = isPng ? wanted.scale : 1;
    size_->setText(isPng ? tr("%1 × %2 pixels")
                               .arg(qRound(picture->width() * scale))
                               .arg(qRound(picture->height() * scale))
                         : tr("%1 × %2 cm")
                               .arg(picture->width() * 2.54 / 96, 0, 'f', 1)
                               .arg(picture->height() * 2.54 / 96, 0, 'f', 1));
    showProblem({});
  } catch (const Error& error) {
    preview_->clear();
    size_->clear();
    showProblem(QString::fromUtf8(error.what()));
  }
}

void ExportDialog::accept() {
  const QString path = file_->text();
  if (QFileInfo::exists(path) && path != replaced_) {
    const auto answer =
        QMessageBox::question(this, windowTitle(), tr("%1 is there already. Replace it?").arg(path),
                              QMessageBox::Yes | QMessageBox::No, QMessageBox::No);
    if (answer != QMessageBox::Yes) return;
    replaced_ = path;
  }
  try {
    exportPicture(*profile_, options());
  } catch (const Error& error) {
    problem_->setText(QString::fromUtf8(error.what()));
    return;
  }
  QDialog::accept();
}

}  // namespace pipetrace
