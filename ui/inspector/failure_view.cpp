// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/failure_view.h"

#include <QVBoxLayout>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

QString failure_text(const RoleFailure& line) {
  return FailureView::tr("%1: %2; recovery: %3.").arg(line.role, line.others, line.back);
}

bool same(const RoleFailure& a, const RoleFailure& b) {
  return a.role == b.role && a.others == b.others && a.back == b.back;
}

// Adds the name of a role, and below it the outcome when a rank of this role fails. They are below
// each other because the column is narrow.
void add_line(QVBoxLayout& column, const RoleFailure& line, QWidget* parent) {
  column.addWidget(paragraph(TextColor::text, parent, line.role));
  TintedLabel* outcome =
      paragraph(TextColor::dim, parent,
                FailureView::tr("%1.\nRecovery: %2.")
                    .arg(line.others.left(1).toUpper() + line.others.mid(1), line.back));
  outcome->setContentsMargins(2 * kGrid, 0, 0, kGrid / 2);
  column.addWidget(outcome);
}

}  // namespace

FailureView::FailureView(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kGrid, 0, 0);
  column->setSpacing(kGrid / 2);
  auto* heading = new TintedLabel(TextColor::text, this, 1, true);
  heading->setText(tr("Outcome of failures"));
  heading->setToolTip(
      tr("A process that exits is detected within 0.1 s; an unresponsive process after 3 s without "
         "a heartbeat"));
  column->addWidget(heading);
  hide();
}

void FailureView::show_lines(const std::vector<RoleFailure>& lines) {
  if (std::ranges::equal(lines, lines_, same)) return;
  lines_ = lines;
  delete table_;
  table_ = new QWidget(this);
  auto* column = new QVBoxLayout(table_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  for (const RoleFailure& line : lines) add_line(*column, line, table_);
  layout()->addWidget(table_);
  setAccessibleDescription(text());
  setVisible(!lines.empty());
}

QString FailureView::text() const {
  QStringList all;
  for (const RoleFailure& line : lines_) all << failure_text(line);
  return all.join("\n");
}

}  // namespace trainyard::ui
