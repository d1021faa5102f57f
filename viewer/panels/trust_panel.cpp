#include "viewer/panels/trust_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QStyle>
#include <QVBoxLayout>

#include "analysis/present/diagnostic_lines.h"
#include "analysis/present/doubt_sentences.h"
#include "trace/text/number_text.h"
#include "viewer/words/option_words.h"

namespace pipetrace {
namespace {

constexpr auto kDoubtMark = QStyle::SP_MessageBoxCritical;
constexpr auto kWarningMark = QStyle::SP_MessageBoxWarning;
constexpr auto kNoteMark = QStyle::SP_MessageBoxInformation;

QString placeOfDiagnostic(const Diagnostic& diagnostic) {
  QString where = QString::fromStdString(diagnostic.file);
  if (diagnostic.line > 0) where += ':' + QString::number(diagnostic.line);
  return where;
}

}  // namespace

TrustPanel::TrustPanel() : list_(new QListWidget) {
  list_->setAccessibleName(tr("Doubts, warnings and notes"));
  list_->setWordWrap(true);
  list_->setResizeMode(QListView::Adjust);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setAlternatingRowColors(true);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setIconSize({16, 16});
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  auto* copyKey = new QAction(tr("Copy the doubts and notes"), this);
  copyKey->setShortcut(QKeySequence::Copy);
  copyKey->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(copyKey, &QAction::triggered, this, &TrustPanel::copy);
  addAction(copyKey);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(list_);
}

void TrustPanel::add(QStyle::StandardPixmap mark, const QString& kind, const QString& text,
                     const QString& next, const QString& where) {
  QString lines = kind + ": " + text;
  if (!next.isEmpty()) lines += '\n' + tr("Next: %1").arg(withWhoseOptions(next));
  auto* item = new QListWidgetItem(style()->standardIcon(mark), lines, list_);
  if (!where.isEmpty()) item->setToolTip(where);
}

void TrustPanel::show(const std::vector<Doubt>& doubts, const Diagnostics& diagnostics) {
  list_->clear();
  for (const Doubt& doubt : doubts) {
    add(kDoubtMark, tr("Doubt"), QString::fromStdString(doubtText(doubt)),
        QString::fromStdString(doubtAdvice(doubt)), {});
  }
  const std::vector<Diagnostic> joined = joinedDiagnostics(diagnostics);
  std::size_t warnings = 0;
  std::size_t notes = 0;
  for (const bool isNote : {false, true}) {
    for (const Diagnostic& each : joined) {
      if ((each.severity == Severity::kNote) != isNote || each.doubt != DoubtKind::kNone) continue;
      ++(isNote ? notes : warnings);
      QString text = QString::fromStdString(each.message);
      if (each.count > 1) text += tr(" (%1 times)").arg(each.count);
      const QString where = placeOfDiagnostic(each);
      if (!where.isEmpty()) text += " [" + where + "]";
      const QString kind = each.severity == Severity::kError ? tr("Error")
                           : isNote                          ? tr("Note")
                                                             : tr("Warning");
      add(isNote ? kNoteMark : kWarningMark, kind, text, QString::fromStdString(each.advice),
          where);
    }
  }
  if (list_->count() == 0) {
    auto* item =
        new QListWidgetItem(tr("There are no doubts about this run, and no notes on it."), list_);
    item->setFlags(Qt::ItemIsEnabled);
  }
  doubts_ = doubts.size();
  grave_ = doubts.size() + warnings;
  QStringList parts;
  const auto count = [&](std::size_t number, const char* what) {
    if (number > 0) parts << QString::fromStdString(countText(number, what));
  };
  count(doubts.size(), "doubt");
  count(warnings, "warning");
  count(notes, "note");
  summary_ = parts.join(QStringLiteral(", "));
}

QIcon TrustPanel::icon() const {
  return style()->standardIcon(doubts_ > 0 ? kDoubtMark : grave_ > 0 ? kWarningMark : kNoteMark);
}

void TrustPanel::copy() {
  QStringList lines;
  for (int row = 0; row < list_->count(); ++row) {
    const QListWidgetItem& item = *list_->item(row);
    if (list_->selectedItems().isEmpty() || item.isSelected()) lines << item.text();
  }
  QApplication::clipboard()->setText(lines.join('\n') + '\n');
}

}  // namespace pipetrace
