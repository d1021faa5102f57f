#include "viewer/what_if/advice_cards.h"

#include <optional>

#include "analysis/present/advice_report.h"
#include "trace/error.h"
#include "viewer/what_if/figures_table.h"
#include "viewer/words/option_words.h"

namespace pipetrace {
namespace {

QString toText(const std::string& text) { return QString::fromStdString(text); }

/// Sentences without full stops, a line each.
QString linesOf(const std::vector<std::string>& sentences) {
  QStringList lines;
  for (const std::string& each : sentences) lines.push_back(withWhoseWhatIfOptions(toText(each)));
  return lines.join('\n');
}

QString titleOf(const Advice& advice) {
  const QString change = changeText(-advice.gain);
  if (!advice.dependsOnOrder()) return change;
  return AdviceCards::tr("%1 to %2").arg(change, changeText(-advice.inLine->gain));
}

}  // namespace

std::optional<WhatIfChanges> changesOf(const Advice& advice) {
  constexpr std::string_view kLogs = " LOGS ";  // AdviceQuestion::logs
  const std::size_t at = advice.command.find(kLogs);
  if (at == std::string::npos) return std::nullopt;
  try {
    WhatIfChanges changes = WhatIfChanges::of(advice.command.substr(at + kLogs.size()));
    (void)changes.question();
    return changes;
  } catch (const Error&) {
    return std::nullopt;
  }
}

AdviceCards::AdviceCards() : column_(new QVBoxLayout(this)), text_(new QLabel) {
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(4);
  text_->setWordWrap(true);
  text_->setTextFormat(Qt::PlainText);
  column_->addWidget(text_);
}

void AdviceCards::clear() {
  for (QCommandLinkButton* card : cards_) {
    column_->removeWidget(card);
    card->deleteLater();
  }
  cards_.clear();
}

void AdviceCards::showText(const QString& text) {
  clear();
  text_->setText(text);
  text_->show();
}

void AdviceCards::show(std::shared_ptr<const AdviceList> advice) {
  clear();
  const std::vector<AdviceSentence> sentences = adviceSentences(*advice);
  QString rest = linesOf(advice->notes);
  if (advice->best.empty()) rest.prepend(toText(sentences.front().text) + '\n');
  for (std::size_t i = 0; i < advice->best.size(); ++i) {
    const Advice& piece = advice->best[i];
    const AdviceSentence& sentence = sentences[i];
    auto* card = new QCommandLinkButton(titleOf(piece), toText(sentence.text));
    const std::optional<WhatIfChanges> changes = changesOf(piece);
    card->setEnabled(changes.has_value());
    card->setIcon({});
    QStringList tip = {changes ? tr("Click to see this change")
                               : tr("No change of this panel does it")};
    if (!sentence.notes.empty()) tip.push_back(linesOf(sentence.notes));
    for (const FrameworkOption& option : piece.options) {
      tip.push_back(toText(option.framework) + ": " + (option.exists ? "" : tr("cannot: ")) +
                    toText(option.text));
    }
    card->setToolTip("<p>" + tip.join('\n').toHtmlEscaped().replace('\n', QStringLiteral("<br>")) +
                     "</p>");
    if (changes) {
      connect(card, &QCommandLinkButton::clicked, this,
              [this, changes = *changes] { emit chosen(changes); });
    }
    cards_.push_back(card);
    column_->insertWidget(static_cast<int>(i), card);
  }
  text_->setText(rest.trimmed());
  text_->setVisible(!text_->text().isEmpty());
}

}  // namespace pipetrace
