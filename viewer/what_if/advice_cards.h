#pragma once

#include <QCommandLinkButton>
#include <QLabel>
#include <QVBoxLayout>
#include <QWidget>
#include <memory>
#include <vector>

#include "analysis/what_if/advice.h"
#include "viewer/what_if/changes.h"

namespace pipetrace {

/// The pieces of advice on a run, a card each: what to do, what it gains, its error and its price.
/// A click on one chooses its change.
class AdviceCards : public QWidget {
  Q_OBJECT

 public:
  AdviceCards();

  void showText(const QString& text);
  void show(std::shared_ptr<const AdviceList> advice);
  const std::vector<QCommandLinkButton*>& cards() const { return cards_; }

 signals:
  void chosen(const pipetrace::WhatIfChanges& changes);

 private:
  void clear();

  QVBoxLayout* column_;
  QLabel* text_;
  std::vector<QCommandLinkButton*> cards_;
};

/// The changes of the command that shows a piece of advice; nothing where it has none, or where the
/// panel cannot show them.
std::optional<WhatIfChanges> changesOf(const Advice& advice);

}  // namespace pipetrace
