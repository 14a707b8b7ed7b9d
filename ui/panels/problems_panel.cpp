// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/problems_panel.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QTextEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "ui/theme/icons.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

enum Column { where_column, what_column, advice_column };

QString advice_of(const base::Problem& problem) {
  QStringList parts;
  if (!problem.advice.empty()) parts << QString::fromStdString(problem.advice);
  if (!problem.accepted.empty())
    parts << ProblemsPanel::tr("Accepted: %1").arg(QString::fromStdString(problem.accepted));
  return parts.join(" ");
}

QString path_of(const QTreeWidgetItem& item) {
  return item.data(where_column, Qt::UserRole).toString();
}

}  // namespace

ProblemsPanel::ProblemsPanel(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      list_(new QTreeWidget(this)),
      advice_(new QTextEdit(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  empty_ = paragraph(TextColor::dim, this);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setContentsMargins(2 * kGrid, 2 * kGrid, 2 * kGrid, 2 * kGrid);
  column->addWidget(empty_);
  column->addWidget(list_, 2);
  column->addWidget(advice_, 1);
  advice_->setReadOnly(true);
  advice_->setTabChangesFocus(true);
  advice_->setFrameShape(QFrame::NoFrame);
  advice_->setAccessibleName(tr("Advice for the problem"));
  list_->setHeaderLabels({tr("Location"), tr("Problem"), tr("Advice")});
  list_->setRootIsDecorated(false);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  list_->setContextMenuPolicy(Qt::CustomContextMenu);
  list_->setAccessibleName(tr("Problems"));
  list_->header()->setSectionResizeMode(where_column, QHeaderView::ResizeToContents);
  list_->header()->setSectionResizeMode(what_column, QHeaderView::Stretch);
  list_->header()->setSectionResizeMode(advice_column, QHeaderView::Stretch);
  list_->header()->setStretchLastSection(false);
  connect(list_, &QTreeWidget::itemActivated, this,
          [this](QTreeWidgetItem* item) { emit activated(path_of(*item)); });
  connect(list_, &QTreeWidget::customContextMenuRequested, this, &ProblemsPanel::show_menu);
  connect(list_, &QTreeWidget::currentItemChanged, this, &ProblemsPanel::show_advice);
  connect(&document, &Document::problems_changed, this, &ProblemsPanel::refresh);
  connect(&document, &Document::changed, this, [this] {
    if (shown_.empty()) refresh();  // the advice for an empty list may change
  });
  refresh();
}

void ProblemsPanel::set_memory_problems(const DisplayProblems& problems) {
  if (problems == memory_problems_) return;
  memory_problems_ = problems;
  refresh();
}

void ProblemsPanel::refresh() {
  shown_ = document_.shown_problems();
  shown_.insert(shown_.end(), memory_problems_.begin(), memory_problems_.end());
  list_->clear();
  for (const auto& [found, displayed] : shown_) {
    auto* item =
        new QTreeWidgetItem(list_, {QString::fromStdString(displayed.where),
                                    QString::fromStdString(displayed.what), advice_of(displayed)});
    item->setData(where_column, Qt::UserRole, QString::fromStdString(found.where));
    item->setIcon(where_column, icon("error"));
    for (int column = 0; column < list_->columnCount(); ++column)
      item->setToolTip(column, item->text(column));
  }
  empty_->setText(document_.has_devices()
                      ? tr("No problems. Press Run.")
                      : tr("The drawing has no device yet. Drag a device from the palette to the "
                           "canvas, or press Ctrl+1 there."));
  list_->setCurrentItem(list_->topLevelItem(0), 0, QItemSelectionModel::NoUpdate);
  show_advice();
  list_->setVisible(!shown_.empty());
  empty_->setVisible(shown_.empty());
  emit count_changed(static_cast<int>(shown_.size()));
}

// Shows the full text of the current problem below the list, because its row has room only for the
// beginning.
void ProblemsPanel::show_advice() {
  const QTreeWidgetItem* current = list_->currentItem();
  advice_->setPlainText(current ? current->text(what_column) + "\n" + current->text(advice_column)
                                : QString());
  advice_->setVisible(current != nullptr);
  const int row = list_->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(current));
  set_manual_problem(
      this, current ? std::optional(shown_[static_cast<std::size_t>(row)].found) : std::nullopt);
}

QString ProblemsPanel::text() const {
  QStringList lines;
  const bool all = list_->selectedItems().isEmpty();
  for (int row = 0; row < list_->topLevelItemCount(); ++row)
    if (all || list_->topLevelItem(row)->isSelected())
      lines << QString::fromStdString(base::to_string(shown_[static_cast<std::size_t>(row)].found));
  return lines.join("\n");
}

void ProblemsPanel::copy() const { QGuiApplication::clipboard()->setText(text()); }

void ProblemsPanel::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copy();
  QWidget::keyPressEvent(event);
}

void ProblemsPanel::show_menu(const QPoint& at) {
  QMenu menu(this);
  // copies the problem, because its row may be removed while the menu is open
  if (const QTreeWidgetItem* item = list_->itemAt(at))
    menu.addAction(tr("Go to location"), this,
                   [this, path = path_of(*item)] { emit activated(path); });
  menu.addAction(icon("copy"), tr("Copy"), this, &ProblemsPanel::copy);
  menu.exec(list_->viewport()->mapToGlobal(at));
}

}  // namespace trainyard::ui
