#include "viewer/start/start_page.h"

#include <QDir>
#include <QFileInfo>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLocale>
#include <QMenu>
#include <QPushButton>
#include <QStyle>

namespace pipetrace {
namespace {

constexpr int kWidest = 860;
constexpr int kInputs = Qt::UserRole;

enum FileColumn { kName, kFolder, kChanged, kSize };

QString shortFolder(const QStringList& inputs) {
  const QString folder = QFileInfo(inputs.front()).path();
  const QString home = QDir::homePath();
  if (folder == home) return QStringLiteral("~");
  return folder.startsWith(home + "/") ? "~" + folder.mid(home.size()) : folder;
}

}  // namespace

StartPage::StartPage(RecentFiles& recent, QWidget* parent) : QWidget(parent), recent_(recent) {
  setObjectName(QStringLiteral("start page"));
  auto* inner = new QWidget;
  inner->setMaximumWidth(kWidest);
  auto* column = new QVBoxLayout(inner);
  column->setContentsMargins(24, 24, 24, 24);
  column->setSpacing(10);
  auto* title = new QLabel(tr("pipe-view"));
  QFont large = font();
  large.setPixelSize(QFontInfo(large).pixelSize() * 9 / 5);
  title->setFont(large);
  auto* what = new QLabel(
      tr("Shows what the ranks of a pipeline-parallel training did, and why they were idle."));
  what->setWordWrap(true);
  problem_ = new QLabel;
  problem_->setObjectName(QStringLiteral("problem"));
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  problem_->setMargin(10);
  problem_->setFrameShape(QFrame::StyledPanel);
  problem_->setAutoFillBackground(true);
  problem_->setBackgroundRole(QPalette::ToolTipBase);
  problem_->setForegroundRole(QPalette::ToolTipText);
  problem_->hide();
  title->setAlignment(Qt::AlignVCenter);
  auto* name = new QHBoxLayout;
  if (!windowIcon().isNull()) {
    auto* icon = new QLabel;
    icon->setPixmap(windowIcon().pixmap(40, 40));
    name->addWidget(icon);
  }
  name->addWidget(title, 1);
  column->addLayout(name);
  column->addWidget(what);
  column->addSpacing(6);
  column->addWidget(problem_);
  addButtons(column);
  addList(column);
  column->addStretch(1);  // below the list, or in its place
  auto* row = new QHBoxLayout(this);
  row->addStretch(1);
  row->addWidget(inner, 100);
  row->addStretch(1);
  connect(&recent_, &RecentFiles::changed, this, &StartPage::fill);
  fill();
}

void StartPage::addButtons(QVBoxLayout* column) {
  auto* row = new QHBoxLayout;
  const auto add = [&](const QString& text, const QString& tip, auto signal) {
    auto* button = new QPushButton(text);
    button->setToolTip(tip);
    button->setMinimumSize(button->sizeHint().width() + 24, 34);
    button->setAutoDefault(true);  // Enter presses it, too
    connect(button, &QPushButton::clicked, this, signal);
    row->addWidget(button);
  };
  add(tr("&Open a file …"),
      tr("a profile, a job log, or a trace of another program; several at once are one run"),
      &StartPage::fileWanted);
  add(tr("Open a &folder …"), tr("the folder with the job logs of all ranks"),
      &StartPage::folderWanted);
  add(tr("Open a &sample"), tr("a simulated run with a slow stage, a slow link and a late job"),
      &StartPage::sampleWanted);
  row->addStretch();
  column->addLayout(row);
  auto* zone = new QLabel(tr("or drop files and folders here"));
  zone->setAlignment(Qt::AlignCenter);
  zone->setMinimumHeight(56);
  zone->setStyleSheet(QStringLiteral(
      "QLabel { border: 1px dashed palette(mid); border-radius: 6px; color: palette(window-text); }"
      "QLabel[isTarget=\"true\"] { border: 2px solid palette(highlight);"
      " color: palette(highlight); }"));
  dropZone_ = zone;
  column->addWidget(zone);
}

void StartPage::addList(QVBoxLayout* column) {
  heading_ = new QLabel(tr("Opened before"));
  QFont bold = font();
  bold.setBold(true);
  heading_->setFont(bold);
  list_ = new QTreeWidget;
  list_->setObjectName(QStringLiteral("recent files"));
  list_->setAccessibleName(tr("Files that were opened before"));
  list_->setHeaderLabels({tr("Name"), tr("Folder"), tr("Changed"), tr("Size")});
  list_->setRootIsDecorated(false);
  list_->setAlternatingRowColors(true);
  list_->setUniformRowHeights(true);
  list_->setTextElideMode(Qt::ElideMiddle);
  list_->setContextMenuPolicy(Qt::CustomContextMenu);
  list_->installEventFilter(this);
  QHeaderView* header = list_->header();
  header->setStretchLastSection(false);
  header->setSectionResizeMode(kName, QHeaderView::Stretch);
  header->setSectionResizeMode(kFolder, QHeaderView::Stretch);
  header->setSectionResizeMode(kChanged, QHeaderView::ResizeToContents);
  header->setSectionResizeMode(kSize, QHeaderView::ResizeToContents);
  connect(list_, &QTreeWidget::itemActivated, this, &StartPage::openItem);
  connect(list_, &QTreeWidget::customContextMenuRequested, this, [this](QPoint position) {
    const QTreeWidgetItem* item = list_->itemAt(position);
    if (item == nullptr) return;
    auto* menu = new QMenu(list_);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (!item->isDisabled()) menu->addAction(tr("Open"), this, [this, item] { openItem(item); });
    menu->addAction(tr("Remove from the list"), this,
                    [this, inputs = inputsOf(item)] { recent_.remove(inputs); });
    menu->popup(list_->viewport()->mapToGlobal(position));
  });
  column->addSpacing(8);
  column->addWidget(heading_);
  column->addWidget(list_, 1000);
}

void StartPage::showDropTarget(bool isTarget) {
  dropZone_->setProperty("isTarget", isTarget);
  dropZone_->style()->unpolish(dropZone_);  // so that the sheet is applied again
  dropZone_->style()->polish(dropZone_);
}

void StartPage::showProblem(const QString& text) {
  problem_->setText(text);
  problem_->setVisible(!text.isEmpty());
}

void StartPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  fill();  // files may have come and gone
  if (list_->isVisible() && list_->topLevelItemCount() > 0) list_->setFocus();
}

void StartPage::fill() {
  list_->clear();
  const QLocale locale;
  for (const QStringList& inputs : recent_.entries()) {
    const InputFacts facts = factsOf(inputs);
    auto* item = new QTreeWidgetItem(list_);
    item->setData(kName, kInputs, inputs);
    item->setText(kName, shortNameOf(inputs));
    item->setText(kFolder, shortFolder(inputs));
    item->setToolTip(kName, inputs.join('\n').toHtmlEscaped());
    item->setTextAlignment(kSize, Qt::AlignRight | Qt::AlignVCenter);
    if (facts.isThere) {
      item->setText(kChanged, locale.toString(facts.changed, QLocale::ShortFormat));
      item->setText(kSize, locale.formattedDataSize(facts.size, 1));
      continue;
    }
    // Still selectable, so that it can be removed with keys.
    item->setText(kChanged, tr("no longer there"));
    for (int i = kName; i <= kSize; ++i) {
      item->setForeground(i, palette().color(QPalette::Disabled, QPalette::Text));
    }
  }
  if (list_->topLevelItemCount() > 0) list_->setCurrentItem(list_->topLevelItem(0));
  const bool hasAny = !recent_.entries().isEmpty();
  heading_->setVisible(hasAny);
  list_->setVisible(hasAny);
}

QStringList StartPage::inputsOf(const QTreeWidgetItem* item) const {
  return item->data(kName, kInputs).toStringList();
}

void StartPage::openItem(const QTreeWidgetItem* item) {
  const QStringList inputs = inputsOf(item);
  if (factsOf(inputs).isThere) {
    emit opened(inputs);
    return;
  }
  showProblem(tr("%1 is no longer there. Open it from where it is now, or remove it from the list "
                 "with Delete.")
                  .arg(inputs.front()));
}

void StartPage::removeCurrent() {
  if (const QTreeWidgetItem* item = list_->currentItem()) recent_.remove(inputsOf(item));
}

bool StartPage::eventFilter(QObject* object, QEvent* event) {
  if (object == list_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete) {
    removeCurrent();
    return true;
  }
  return QWidget::eventFilter(object, event);
}

}  // namespace pipetrace
